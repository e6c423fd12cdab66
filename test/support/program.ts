import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';

const ROOT = new URL('../../', import.meta.url).pathname;

/** The built program as a separate process. */
export class Program {
  output = '';
  errors = '';

  private readonly closed: Promise<unknown>;

  private constructor(private readonly child: ChildProcess) {
    this.closed = once(child, 'close');
    child.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
  }

  /**
   * Starts `node dist/main.js` in a folder, on a free port, with only this environment. A stop
   * closes idle connections at once, so that tests need not wait.
   */
  static start(folder: string, env: Record<string, string> = {}, ...args: string[]): Program {
    return Program.startUnder([], folder, env, ...args);
  }

  /** @param tracer the command that runs the program */
  static startUnder(
    tracer: string[],
    folder: string,
    env: Record<string, string>,
    ...args: string[]
  ): Program {
    return Program.spawn(
      [...tracer, process.execPath, `${ROOT}dist/main.js`, ...args],
      folder,
      env,
    );
  }

  private static spawn(
    [command = '', ...rest]: readonly string[],
    folder: string,
    env: Record<string, string>,
  ): Program {
    return new Program(
      spawn(command, rest, {
        cwd: folder,
        env: { PATH: process.env.PATH, PORT: '0', SHUTDOWN_GRACE_MS: '0', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  }

  /** Resolves with the address once the program listens. */
  async listening(): Promise<string> {
    return (await this.printed(/Listening on (http:\/\/\S+?),/))[1] ?? '';
  }

  /** Resolves once the standard output, or error, of the program matches. */
  async printed(pattern: RegExp, stream: 'output' | 'errors' = 'output'): Promise<RegExpExecArray> {
    const source = stream === 'output' ? this.child.stdout : this.child.stderr;
    for (;;) {
      const match = pattern.exec(this[stream]);
      if (match !== null) return match;
      if (this.hasExited) throw new Error(`exited: ${this.errors}`);
      await Promise.race([once(source ?? this.child, 'data'), this.exited()]);
    }
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Reads the resident memory of the program, in MiB. */
  async residentMemory(): Promise<number> {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(this.pid)]);
    return Number(stdout) / 1_024;
  }

  /** Counts its open files and connections; NaN if the system does not tell. */
  openDescriptors(): number {
    try {
      return readdirSync(`/proc/${String(this.pid)}/fd`).length;
    } catch {
      return NaN;
    }
  }

  /** Closes the pipes of its output. */
  stopReading(): void {
    this.child.stdout?.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Resolves with the exit code, or with null after a signal. */
  async exited(): Promise<number | null> {
    await this.closed;
    return this.child.exitCode;
  }

  get hasExited(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}
