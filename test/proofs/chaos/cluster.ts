import pg from 'pg';
import { PostgresServer } from '../../../packages/platform/src/testing/postgres-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../../packages/platform/src/testing/until.js';

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
    await cluster.restart();
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
    await query(standby, 'SELECT pg_promote()');
    [this.primary, this.standby] = [standby, primary];
    this.proxy.target = standby.port;
    await this.restart();
  }

  async remove(): Promise<void> {
    this.proxy.close();
    await this.primary.remove();
    await this.standby.remove();
  }

  /**
   * Kills both servers and starts them, the standby on a copy of the primary's data. Resolves once it
   * has all commits: until then others may see a commit that the primary has and the standby lacks.
   */
  async restart(): Promise<void> {
    const { primary, standby } = this;
    await primary.kill('SIGQUIT');
    await standby.kill('SIGQUIT');
    await standby.copyData(primary);
    await primary.resume(SYNCHRONOUS);
    await standby.resumeAsStandby(
      SYNCHRONOUS,
      `primary_conninfo=host=127.0.0.1 port=${primary.port} user=postgres`,
    );
    const standbys = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'";
    await until(async () => (await query(primary, standbys)) === 1);
  }
}

/** Resolves with the number of rows. */
async function query(server: PostgresServer, sql: string): Promise<number | null> {
  const client = new pg.Client(server.url());
  await client.connect();
  const { rowCount } = await client.query(sql);
  await client.end();
  return rowCount;
}
