import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program } from './program.js';
import { TOKEN } from './token.js';

const COMMANDS = new URL('../../dist/commands/', import.meta.url).pathname;

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
    const program = Program.start(this.path, env, ...args);
    this.programs.push(program);
    return program;
  }

  /** Starts the program in the folder, where it takes the token of the tests. */
  serve(env: Record<string, string> = {}): Program {
    return this.start({ ACCESS_TOKENS: TOKEN, ...env });
  }

  /** Runs a built command in the folder, with only this environment. */
  async run(command: string, args: string[], env: Record<string, string>): Promise<Ended> {
    return await new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [`${COMMANDS}${command}.js`, ...args],
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
