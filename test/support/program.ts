import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TOKEN } from '../../packages/platform/src/testing/token.js';
import { until } from '../../packages/platform/src/testing/until.js';

export const ROOT = new URL('../../', import.meta.url).pathname;

/** An answer of the program. */
export interface ProgramAnswer {
  readonly status: number;
  /** The code of an Error, or else the status. */
  readonly code: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Makes the environment with which a program runs this ES module before its own. */
export function preload(script: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

/**
 * Makes the start of a command that runs once a shell has executed other commands. What they mount, only
 * they and the command see.
 */
export function runAfter(commands: string): string[] {
  // An ordinary user may only mount as the root of a namespace of its own.
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  return ['unshare', '--mount', ...asRoot, 'sh', '-ec', `${commands}\nexec "$@"`, 'sh'];
}

/** The built program as a separate process. */
export class Program {
  output = '';
  errors = '';

  private readonly closed: Promise<unknown>;
  private isClosed = false;
  private address: Promise<string> | undefined;

  private constructor(private readonly child: ChildProcess) {
    this.closed = once(child, 'close').finally(() => (this.isClosed = true));
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
  }

  /**
   * Starts `node dist/main.js` in a folder, on a free port, with only this environment. A stop
   * closes idle connections at once, so that tests need not wait.
   *
   * @param tracer the command that runs the program, if another one does
   */
  static start(
    tracer: readonly string[],
    folder: string,
    env: Record<string, string>,
    ...args: readonly string[]
  ): Program {
    const [command = '', ...rest] = [...tracer, process.execPath, `${ROOT}dist/main.js`, ...args];
    const child = spawn(command, rest, {
      cwd: folder,
      env: { PATH: process.env.PATH, PORT: '0', SHUTDOWN_GRACE_MS: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new Program(child);
  }

  /** Resolves with the address once the program listens. */
  listening(): Promise<string> {
    this.address ??= this.printed(/Listening on (http:\/\/\S+?),/).then(([, url = '']) => url);
    return this.address;
  }

  /** Resolves with the address once the program is ready, for one whose log does not tell it. */
  async ready(port: number): Promise<URL> {
    const url = new URL(`http://127.0.0.1:${port}`);
    await until(async () => {
      if (this.hasExited) throw new Error(`exited: ${this.errors}`);
      return (await fetch(`${url.origin}/health/ready`).catch(() => undefined))?.ok === true;
    });
    return url;
  }

  /** Resolves once the standard output, or error, of the program matches. */
  async printed(pattern: RegExp, stream: 'output' | 'errors' = 'output'): Promise<RegExpExecArray> {
    const source = stream === 'output' ? this.child.stdout : this.child.stderr;
    for (;;) {
      const match = pattern.exec(this[stream]);
      if (match !== null) return match;
      // The last lines of a program may come after its end.
      if (this.isClosed) throw new Error(`exited: ${this.errors}`);
      await Promise.race([once(source ?? this.child, 'data'), this.exited()]);
    }
  }

  /** Sends a request with JSON and a token, once the program listens. */
  async send(
    method: string,
    path: string,
    body?: string,
    token: string = TOKEN,
  ): Promise<ProgramAnswer> {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const init = { method, headers, ...(body !== undefined && { body }) };
    const answer = await fetch((await this.listening()) + path, init);
    const text = await answer.text();
    const [, error = answer.status] = /^\{"error":(\d+),/.exec(text) ?? [];
    return { status: answer.status, code: Number(error), headers: answer.headers, text };
  }

  /** Creates a plant, and resolves with the code of an Error or the status. */
  async create(id: number, name = 'Monstera', token: string = TOKEN): Promise<number> {
    return (await this.send('POST', '/plants', JSON.stringify({ id, name }), token)).code;
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

  /** Sends a signal, and resolves with the exit code, or with null. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.kill(signal);
    return await this.exited();
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

/** The output and the exit code of a command. */
export interface Ended {
  readonly exitCode: number;
  readonly output: string;
  readonly errors: string;
}

/** An empty folder, and the programs that tests start in it. */
export class ProgramFolder {
  private readonly programs: Program[] = [];

  private constructor(readonly path: string) {}

  static async create(): Promise<ProgramFolder> {
    return new ProgramFolder(await mkdtemp(join(tmpdir(), 'plant-store-')));
  }

  /** Starts the program in the folder; see {@link Program.start}. */
  start(env: Record<string, string> = {}, ...args: string[]): Program {
    return this.startWith([], env, ...args);
  }

  /** Starts the program with a tracer; see {@link Program.start}. */
  startWith(tracer: readonly string[], env: Record<string, string>, ...args: string[]): Program {
    const program = Program.start(tracer, this.path, env, ...args);
    this.programs.push(program);
    return program;
  }

  /** Starts the program in the folder, where it takes the token of the tests. */
  serve(env: Record<string, string> = {}): Program {
    return this.start({ ACCESS_TOKENS: TOKEN, ...env });
  }

  /**
   * Runs a built command in the folder, with only this environment.
   *
   * @param tracer the command that runs it, if another one does
   */
  async run(
    command: string,
    args: readonly string[],
    env: Record<string, string>,
    tracer: readonly string[] = [],
  ): Promise<Ended> {
    const script = `${ROOT}dist/commands/${command}.js`;
    const [file = '', ...rest] = [...tracer, process.execPath, script, ...args];
    return await new Promise((resolve) => {
      const child = execFile(
        file,
        rest,
        { cwd: this.path, env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env } },
        (_, output, errors) => resolve({ exitCode: child.exitCode ?? -1, output, errors }),
      );
    });
  }

  /** The path of a file in the folder. */
  file(name: string): string {
    return join(this.path, name);
  }

  /** Kills the programs that still run, and removes the folder. */
  async remove(): Promise<void> {
    for (const program of this.programs) program.kill('SIGKILL');
    await Promise.all(this.programs.map((program) => program.exited()));
    await rm(this.path, { recursive: true });
  }
}
