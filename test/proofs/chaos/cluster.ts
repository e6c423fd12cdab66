import pg from 'pg';
import { PostgresServer } from '../../support/postgres-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';

/** Commits are acknowledged once any standby has them on its disk. */
const SYNCHRONOUS = 'synchronous_standby_names=*';

/** Two PostgreSQL servers with synchronous replication, and a proxy that leads to the primary. */
export class Cluster {
  private constructor(
    private primary: PostgresServer,
    private standby: PostgresServer,
    private readonly proxy: TcpProxy,
  ) {}

  static async start(): Promise<Cluster> {
    const [primary, standby] = [await PostgresServer.start(), await PostgresServer.start()];
    const cluster = new Cluster(primary, standby, await TcpProxy.start(primary.port));
    await cluster.replicate();
    return cluster;
  }

  /** Makes the URL that leads to the primary. */
  url(): string {
    return this.primary.url().replace(String(this.primary.port), String(this.proxy.port));
  }

  /** Kills the primary, lets the standby take over, and makes the killed one its standby. */
  async failOver(): Promise<void> {
    const { primary, standby } = this;
    await primary.kill('SIGQUIT');
    const client = new pg.Client(standby.url());
    await client.connect();
    await client.query('SELECT pg_promote()');
    await client.end();
    [this.primary, this.standby] = [standby, primary];
    this.proxy.target = standby.port;
    await this.replicate();
  }

  async remove(): Promise<void> {
    this.proxy.close();
    await this.primary.remove();
    await this.standby.remove();
  }

  /** Starts both servers anew, the standby on a copy of the primary's data. */
  private async replicate(): Promise<void> {
    const { primary, standby } = this;
    await primary.kill('SIGQUIT');
    await standby.kill('SIGQUIT');
    await standby.copyData(primary);
    await primary.resume(SYNCHRONOUS);
    await standby.resumeAsStandby(
      SYNCHRONOUS,
      `primary_conninfo=host=127.0.0.1 port=${primary.port} user=postgres`,
    );
  }
}
