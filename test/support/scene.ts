import { expect } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Faults, type Wrong } from './faults.js';
import { PlantClient } from './plant-client.js';
import { Program } from './program.js';
import { TOKEN } from './token.js';

/** The time that a busy machine may add to a time limit, in milliseconds. */
export const SLACK = 1_500;

/** The longest that a stop lasts, in milliseconds, as docs/operations.md says. */
export const LONGEST_STOP = 8_000;

interface Circumstances {
  /** The end of the paths of the files that may have faults. */
  readonly suffix?: string;
  /** What is wrong with them from the start. */
  readonly wrong?: Wrong;
  readonly env?: Record<string, string>;
}

/** The built program with a store of its own, one client, and what is wrong with its disk. */
export class Scene {
  readonly client = new PlantClient();
  readonly store: string;
  program: Program;
  private static readonly open = new Set<Scene>();
  private readonly env: Record<string, string>;
  private readonly mayHaveFaults: Faults | undefined;

  private constructor(
    readonly folder: string,
    { suffix, wrong = {}, env }: Circumstances,
  ) {
    this.store = join(folder, 'plants.db');
    this.mayHaveFaults = suffix === undefined ? undefined : new Faults(folder, suffix);
    this.env = { ACCESS_TOKENS: TOKEN, DATABASE_URL: 'sqlite:plants.db', ...env };
    this.mayHaveFaults?.set(wrong);
    this.program = this.start();
  }

  static async play(
    act: (scene: Scene) => Promise<void>,
    circumstances: Circumstances = {},
  ): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
    await Scene.playIn(folder, act, circumstances).finally(() => rm(folder, { recursive: true }));
  }

  static async playIn(
    folder: string,
    act: (scene: Scene) => Promise<void>,
    circumstances: Circumstances = {},
  ): Promise<void> {
    const scene = new Scene(folder, circumstances);
    Scene.open.add(scene);
    await act(scene).finally(() => scene.kill());
    Scene.open.delete(scene);
  }

  /** Ends what a failed test has left. */
  static async close(): Promise<void> {
    await Promise.all([...Scene.open].map((scene) => scene.kill()));
  }

  get faults(): Faults {
    if (this.mayHaveFaults === undefined) throw new TypeError('no file may have faults');
    return this.mayHaveFaults;
  }

  start(): Program {
    this.program = Program.start(this.folder, { ...this.env, ...this.mayHaveFaults?.env });
    return this.program;
  }

  /** Resolves with the address, once a first plant is stored. */
  async serve(): Promise<string> {
    const url = await this.program.listening();
    expect(await this.client.create(url)).toMatchObject({ status: 200 });
    return url;
  }

  async kill(): Promise<void> {
    this.program.kill('SIGKILL');
    await this.program.exited();
  }

  /** Stops the program in order, and finds everything that it acknowledged. */
  async expectNothingLost(): Promise<void> {
    this.program.kill('SIGTERM');
    expect(await this.program.exited()).toBe(0);
    expect(this.program.output + this.program.errors).not.toContain(TOKEN);
    await this.client.expectAllStored(this.store);
  }
}

export async function timed<T>(action: Promise<T>): Promise<{ result: T; ms: number }> {
  const began = performance.now();
  return { result: await action, ms: performance.now() - began };
}

export const LOG_OF_STORE = { suffix: 'plants.db-wal' };
