import { expect } from '@jest/globals';
import { join } from 'node:path';
import { Faults, type Wrong } from './faults.js';
import { inNewFolder } from './new-folder.js';
import { PlantClient } from './plant-client.js';
import { Program } from './program.js';
import { TOKEN } from './token.js';

/** The longest stop, in milliseconds, as in docs/operations.md. */
export const LONGEST_STOP = 8_000;

/** The step of the moved clock, in milliseconds. */
export const STEP = 100;
/** The longest wait in any test, in milliseconds. */
const LONGEST_STEPS = 60_000;

interface Circumstances {
  /** The end of the paths of the files that may have faults. */
  readonly suffix?: string;
  /** The faults from the start. */
  readonly wrong?: Wrong;
  readonly env?: Record<string, string>;
}

/** The built program with a store, one client, a movable clock, and faults of its disk. */
export class Scene {
  readonly client = new PlantClient();
  readonly store: string;
  readonly faults: Faults;
  program: Program;
  private static readonly open = new Set<Scene>();
  private readonly env: Record<string, string>;

  private constructor(
    readonly folder: string,
    { suffix = 'no file', wrong = {}, env }: Circumstances,
  ) {
    this.store = join(folder, 'plants.db');
    this.faults = new Faults(folder, suffix);
    this.env = { ACCESS_TOKENS: TOKEN, DATABASE_URL: 'sqlite:plants.db', ...env };
    this.faults.set(wrong);
    this.program = this.start();
  }

  static async play(
    act: (scene: Scene) => Promise<void>,
    circumstances: Circumstances = {},
  ): Promise<void> {
    await inNewFolder((folder) => Scene.playIn(folder, act, circumstances));
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

  /** Ends the programs that a failed test has left running. */
  static async close(): Promise<void> {
    await Promise.all([...Scene.open].map((scene) => scene.kill()));
  }

  start(): Program {
    this.program = Program.start(this.folder, { ...this.env, ...this.faults.env });
    return this.program;
  }

  /** Resolves with the address, once a first plant is stored. */
  async serve(): Promise<string> {
    const url = await this.program.listening();
    expect(await this.client.create(url)).toMatchObject({ status: 200 });
    return url;
  }

  /** Lets time pass for the program. */
  readonly passTime = (ms: number): Promise<void> => this.faults.passTime(ms, this.program);

  /** Lets time pass until the work has ended. @returns how much has passed, in milliseconds */
  readonly passTimeUntil = async (work: Promise<unknown>): Promise<number> => {
    const state = { isOver: false };
    const end = (): boolean => (state.isOver = true);
    work.then(end, end);
    let passed = 0;
    while (!state.isOver && passed < LONGEST_STEPS) {
      await this.passTime(STEP);
      passed += STEP;
    }
    return passed;
  };

  async kill(): Promise<void> {
    this.program.kill('SIGKILL');
    await this.program.exited();
  }

  /** Stops the program with SIGTERM, and checks that every acknowledged plant is stored. */
  async expectNothingLost(): Promise<void> {
    this.program.kill('SIGTERM');
    expect(await this.program.exited()).toBe(0);
    expect(this.program.output + this.program.errors).not.toContain(TOKEN);
    await this.client.expectAllStored(this.store);
  }
}

export const LOG_OF_STORE = { suffix: 'plants.db-wal' };
