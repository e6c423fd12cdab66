import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program } from './program.js';

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
