import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

const ROOT = new URL('../../', import.meta.url).pathname;

/** The built program as a process of its own. */
export class Program {
  output = '';
  errors = '';

  private constructor(private readonly child: ChildProcess) {
    child.stdout?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.errors += chunk.toString()));
  }

  /** Starts `node dist/main.js` in a folder, on a free port, with this environment and no other. */
  static start(folder: string, env: Record<string, string> = {}, ...args: string[]): Program {
    return new Program(
      spawn(process.execPath, [`${ROOT}dist/main.js`, ...args], {
        cwd: folder,
        env: { PATH: process.env.PATH, PORT: '0', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  }

  /** Resolves with the address, once the program says that it listens. */
  async listening(): Promise<string> {
    return (await this.printed(/Listening on (http:\/\/\S+?),/))[1] ?? '';
  }

  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output);
      if (match !== null) return match;
      const { exitCode, signalCode } = this.child;
      if (exitCode !== null || signalCode !== null) throw new Error(`exited: ${this.errors}`);
      await Promise.race([once(this.child.stdout ?? this.child, 'data'), this.exited()]);
    }
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Nobody reads any more what it prints. */
  stopReading(): void {
    this.child.stdout?.destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Resolves with the exit code, or with null after a signal. */
  async exited(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      await once(this.child, 'close');
    }
    return this.child.exitCode;
  }
}
