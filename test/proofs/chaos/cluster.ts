import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { freePort } from '../../support/free-port.js';
import { findUnprivilegedUser } from '../../support/postgres-server.js';
import { until } from '../../support/until.js';

/** The folder of PostgreSQL's programs in Debian, with a folder for each version. */
const POSTGRESQL = '/usr/lib/postgresql';

/**
 * Patroni's times, in seconds. It replaces a primary that was silent for `ttl`, here its minimum.
 */
const TIMES = { ttl: 20, loop_wait: 5, retry_timeout: 5 };

const SUPERUSER = 'postgres';
const REPLICATOR = 'replicator';
const PASSWORD = 'secret';

/** A PostgreSQL server and the Patroni that manages it. */
interface Member {
  readonly name: string;
  readonly postgresPort: number;
  readonly restPort: number;
}

/**
 * PostgreSQL servers with synchronous replication, each managed by Patroni; etcd, in which Patroni
 * elects the primary; and HAProxy, whose port leads to the primary. All are processes on this
 * machine.
 */
export class Cluster {
  private readonly processes = new Map<string, ChildProcess>();

  private constructor(
    private readonly folder: string,
    private readonly etcdPort: number,
    private readonly port: number,
    private readonly members: readonly Member[],
    private readonly ids: object,
  ) {}

  /**
   * Resolves once there is a primary and a synchronous standby.
   *
   * @param folder a new one
   */
  static async start(folder: string): Promise<Cluster> {
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    // Any user must reach it.
    chmodSync(dirname(folder), 0o755);
    const member = async (name: string): Promise<Member> => ({
      name,
      postgresPort: await freePort(),
      restPort: await freePort(),
    });
    const members = [await member('one'), await member('two')];
    const ids = await findUnprivilegedUser();
    const cluster = new Cluster(folder, await freePort(), await freePort(), members, ids);
    process.once('exit', () => cluster.remove());
    await cluster.startEtcd();
    for (const { name } of members) cluster.startPatroni(name);
    cluster.startHaproxy();
    await cluster.recovered();
    return cluster;
  }

  /** Makes the URL that leads to the primary. */
  url(): string {
    return `postgres://${SUPERUSER}:${PASSWORD}@127.0.0.1:${this.port}/postgres`;
  }

  /** Resolves once both servers run, and the standby has all commits. */
  private async recovered(): Promise<void> {
    await until(async () => {
      const roles = await this.roles();
      return roles.has('leader') && roles.has('sync_standby');
    });
  }

  /**
   * Kills the primary and its Patroni, waits until another server is the primary, and makes the
   * killed one its standby.
   */
  async failOver(): Promise<void> {
    const killed = (await this.roles()).get('leader');
    if (killed === undefined) throw new Error('There is no primary');
    this.processes.get(killed)?.kill('SIGKILL');
    this.killPostgres(killed);
    await until(async () => ![killed, undefined].includes((await this.roles()).get('leader')));
    this.startPatroni(killed);
    await this.recovered();
  }

  private startPatroni(name: string): void {
    const file = join(this.folder, `${name}.json`);
    writeFileSync(file, JSON.stringify(this.patroniOptions(name)));
    this.run(name, 'patroni', file);
  }

  /** Ends all processes. */
  remove(): void {
    for (const child of this.processes.values()) child.kill('SIGKILL');
    for (const { name } of this.members) this.killPostgres(name);
  }

  private killPostgres(name: string): void {
    const file = join(this.folder, `${name}-data/postmaster.pid`);
    if (!existsSync(file)) return;
    const [pid] = readFileSync(file, 'utf8').split('\n');
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }

  /** Reads the roles of the servers from the first Patroni that answers. */
  private async roles(): Promise<Map<string, string>> {
    for (const { restPort } of this.members) {
      const answer = await fetch(`http://127.0.0.1:${restPort}/cluster`, {
        signal: AbortSignal.timeout(2_000),
      }).catch(() => undefined);
      if (answer?.ok !== true) continue;
      const { members } = (await answer.json()) as {
        members: { name: string; role: string; state: string }[];
      };
      const working = members.filter(({ state }) => ['running', 'streaming'].includes(state));
      return new Map(working.map(({ role, name }) => [role, name]));
    }
    return new Map();
  }

  private async startEtcd(): Promise<void> {
    const client = `http://127.0.0.1:${this.etcdPort}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    const options = {
      'data-dir': join(this.folder, 'etcd-data'),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `default=${peer}`,
    };
    this.run('etcd', 'etcd', ...Object.entries(options).map((pair) => `--${pair.join('=')}`));
  }

  private startHaproxy(): void {
    const file = join(this.folder, 'haproxy.cfg');
    const servers = this.members.map(
      ({ name, postgresPort, restPort }) =>
        `  server ${name} 127.0.0.1:${postgresPort} check port ${restPort}`,
    );
    writeFileSync(file, [...HAPROXY(this.port), ...servers, ''].join('\n'));
    this.run('haproxy', 'haproxy', '-db', '-f', file);
  }

  private patroniOptions(own: string): object {
    const member = this.members.find(({ name }) => name === own);
    if (member === undefined) throw new TypeError(`no member ${own}`);
    const rest = `127.0.0.1:${member.restPort}`;
    const postgres = `127.0.0.1:${member.postgresPort}`;
    return {
      scope: 'plants',
      name: own,
      restapi: { listen: rest, connect_address: rest },
      etcd3: { host: `127.0.0.1:${this.etcdPort}` },
      bootstrap: {
        dcs: { ...TIMES, synchronous_mode: true, postgresql: { use_pg_rewind: true } },
        initdb: ['data-checksums', { encoding: 'UTF8' }, { locale: 'C' }],
      },
      postgresql: {
        listen: postgres,
        connect_address: postgres,
        bin_dir: findBinaries(),
        data_dir: join(this.folder, `${own}-data`),
        pgpass: join(this.folder, `${own}.pgpass`),
        authentication: {
          superuser: { username: SUPERUSER, password: PASSWORD },
          replication: { username: REPLICATOR, password: PASSWORD },
        },
        parameters: { unix_socket_directories: this.folder },
        pg_hba: [
          `host replication ${REPLICATOR} 127.0.0.1/32 scram-sha-256`,
          'host all all 127.0.0.1/32 scram-sha-256',
        ],
      },
    };
  }

  private run(name: string, command: string, ...args: string[]): void {
    const log = openSync(join(this.folder, `${name}.log`), 'a');
    const env = { PATH: `${String(process.env.PATH)}:/usr/sbin` };
    const child = spawn(command, args, { ...this.ids, env, stdio: ['ignore', log, log] });
    this.processes.set(name, child);
    child.once('error', () => {
      throw new Error(`${command} is not installed`);
    });
  }
}

/** A server that is not the primary loses its connections. */
const HAPROXY = (port: number): string[] => [
  'defaults',
  '  mode tcp',
  '  timeout connect 2s',
  '  timeout check 2s',
  '  timeout client 30m',
  '  timeout server 30m',
  'listen primary',
  `  bind 127.0.0.1:${port}`,
  '  option httpchk OPTIONS /primary',
  '  http-check expect status 200',
  '  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions',
];

/** Finds the programs of the newest PostgreSQL of Debian. */
function findBinaries(): string {
  const versions = existsSync(POSTGRESQL) ? readdirSync(POSTGRESQL).map(Number) : [];
  if (versions.length === 0) throw new Error('postgresql is not installed');
  return join(POSTGRESQL, String(Math.max(...versions)), 'bin');
}
