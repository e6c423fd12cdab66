import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { freePort } from '../../packages/platform/src/testing/free-port.js';
import type { ProgramFolder } from './program.js';
import { until } from '../../packages/platform/src/testing/until.js';

const CONFIGURATION = new URL('../../deploy/nginx.conf', import.meta.url);
/** Debian installs nginx in a folder that is not in every PATH. */
const PATH = `${process.env.PATH ?? ''}:/usr/sbin`;

/** nginx with the shipped configuration, as a process of its own. */
export class Nginx {
  private constructor(
    private readonly process: ChildProcess,
    readonly port: number,
  ) {}

  /**
   * Starts nginx with the shipped configuration, but with other addresses. The names of containers
   * are unknown here, and only some releases of nginx look them up again.
   *
   * @param upstreams the ports of the replicas
   * @param readTimeout how long nginx waits for an answer
   * @param directives of the server, in place of `gzip off`
   */
  static async start(
    folder: ProgramFolder,
    upstreams: readonly number[],
    readTimeout = '30s',
    directives = 'gzip off;',
  ): Promise<Nginx> {
    const port = await freePort();
    const servers = upstreams.map((upstream) => `server 127.0.0.1:${upstream} max_fails=0;`);
    const text = readFileSync(CONFIGURATION, 'utf8')
      .replace('resolver 127.0.0.11 valid=5s;', '')
      .replace(/server plants:3000 .*/, servers.join('\n'))
      .replace('listen 80;', `listen 127.0.0.1:${port};`)
      .replace('gzip off;', () => directives)
      .replace('proxy_read_timeout 30s;', `proxy_read_timeout ${readTimeout};`);
    const file = folder.file('nginx.conf');
    writeFileSync(file, text);
    const globals = `daemon off; error_log stderr; pid ${folder.file('nginx.pid')};`;
    const process = spawn('nginx', ['-p', folder.path, '-c', file, '-g', globals], {
      env: { PATH },
      stdio: 'ignore',
    });
    const nginx = new Nginx(process, port);
    await until(async () => (await fetch(nginx.origin).catch(() => undefined)) !== undefined);
    return nginx;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Sums the sizes of the files that its workers have open and have removed, in bytes. */
  countTemporaryBytes(): number {
    const children = `/proc/${this.process.pid}/task/${this.process.pid}/children`;
    const workers = readFileSync(children, 'utf8').trim().split(' ');
    const files = workers.flatMap((pid) =>
      readdirSync(`/proc/${pid}/fd`).map((descriptor) => `/proc/${pid}/fd/${descriptor}`),
    );
    return files
      .filter((file) => isRemoved(file))
      .reduce((bytes, file) => bytes + statSync(file).size, 0);
  }

  async stop(): Promise<void> {
    this.process.kill('SIGTERM');
    await once(this.process, 'exit');
  }
}

/** Whether a descriptor leads to a removed file, as those of nginx's temporary files do. */
function isRemoved(descriptor: string): boolean {
  try {
    const target = readlinkSync(descriptor);
    return target.startsWith('/') && target.endsWith('(deleted)');
  } catch {
    // It was closed in the meantime.
    return false;
  }
}
