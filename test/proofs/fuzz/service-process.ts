import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../support/free-port.js';
import type { TestStore } from '../../support/test-store.js';
import { ACCESS_TOKENS } from '../../fuzz/headers.js';

const PROGRAM = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
/** How long a start or a stop may take, in milliseconds. */
const PATIENCE = 30_000;

/** The service as it runs in production: a process of its own, on a store of its own. */
export class ServiceProcess {
  /** The end of what it printed that tells of an error. */
  complaints = '';

  private constructor(
    readonly url: URL,
    private readonly process: ChildProcess,
  ) {
    process.stdout?.on('data', (data: Buffer) => this.listen(data.toString()));
    process.stderr?.on('data', (data: Buffer) => this.complain(data.toString()));
  }

  static async start(store: TestStore): Promise<ServiceProcess> {
    if (!existsSync(PROGRAM)) throw new Error('There is no dist/main.js: run npm run build first');
    const port = await freePort();
    const env = {
      LOG_LEVEL: 'error',
      ...process.env,
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(port),
      DATABASE_URL: store.url,
      ACCESS_TOKENS,
    };
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
    const child = spawn(process.execPath, [PROGRAM], { cwd: tmpdir(), env, stdio });
    const service = new ServiceProcess(new URL(`http://127.0.0.1:${port}`), child);
    await service.untilReady();
    return service;
  }

  /** Resident memory in MiB; NaN where it cannot be told. */
  async residentMemory(): Promise<number> {
    try {
      const ps = promisify(execFile);
      const { stdout } = await ps('ps', ['-o', 'rss=', '-p', String(this.process.pid)]);
      return Number(stdout) / 1024;
    } catch {
      return NaN;
    }
  }

  /** How many files and connections it has open; NaN where it cannot be told. */
  openDescriptors(): number {
    try {
      return readdirSync(`/proc/${String(this.process.pid)}/fd`).length;
    } catch {
      return NaN;
    }
  }

  /** Stops it as an operator would, and resolves with its exit code. */
  async stop(): Promise<number | null> {
    if (this.process.exitCode === null) {
      const exit = once(this.process, 'exit');
      this.process.kill('SIGTERM');
      const timer = setTimeout(() => this.process.kill('SIGKILL'), PATIENCE);
      await exit;
      clearTimeout(timer);
    }
    return this.process.exitCode;
  }

  private async untilReady(): Promise<void> {
    const deadline = Date.now() + PATIENCE;
    while (this.process.exitCode === null && Date.now() < deadline) {
      const isReady = await fetch(new URL('/openapi.json', this.url)).then(
        (response) => response.ok,
        () => false,
      );
      if (isReady) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await this.stop();
    throw new Error(`The service did not start: ${this.complaints}`);
  }

  /** Lines of level 50 and above are errors. */
  private listen(output: string): void {
    for (const line of output.split('\n')) {
      if (/"level":[56]0/.test(line)) this.complain(`${line}\n`);
    }
  }

  private complain(text: string): void {
    this.complaints = (this.complaints + text).slice(-4_000);
  }
}
