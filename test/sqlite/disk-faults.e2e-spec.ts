import { afterAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { WRITE_TIMEOUT_MS } from '../../src/config/time-limits.js';
import { Faults, type Wrong } from '../support/faults.js';
import { freePort } from '../support/free-port.js';
import { expectUnavailable, LARGE_NAME, PlantClient } from '../support/plant-client.js';
import { Program } from '../support/program.js';
import { type Answer, TOKEN } from '../support/test-app.js';

/** The time that a busy machine may add to a time limit, in milliseconds. */
const SLACK = 1_500;

/** The longest that a stop lasts, in milliseconds, as docs/operations.md says. */
const LONGEST_STOP = 8_000;

jest.setTimeout(30_000);

interface Circumstances {
  /** The end of the paths of the files that may have faults. */
  readonly suffix?: string;
  /** What is wrong with them from the start. */
  readonly wrong?: Wrong;
  readonly env?: Record<string, string>;
}

/** The built program with a store of its own, one client, and what is wrong with its disk. */
class Scene {
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

afterAll(() => Scene.close());

async function timed<T>(action: Promise<T>): Promise<{ result: T; ms: number }> {
  const began = performance.now();
  return { result: await action, ms: performance.now() - began };
}

/** So many creates, which 16 connections send one after another. */
async function createMany({ client }: Scene, url: string, count: number): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  const connection = async (): Promise<void> => {
    while (answers.length < count) {
      const answer = client.create(url);
      answers.push(answer);
      await answer;
    }
  };
  await Promise.all(Array.from({ length: 16 }, connection));
  return await Promise.all(answers);
}

function withStatus(answers: readonly Answer[], wanted: number): Answer[] {
  return answers.filter(({ status }) => status === wanted);
}

const LOG_OF_STORE = { suffix: 'plants.db-wal' };

// Most of them wait for a time limit, so they do it together.
(Faults.areSupported ? describe : describe.skip)('with a sick disk (Linux, cc)', () => {
  it.concurrent('creates get 503 while flushes fail, and 200 when they do not', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ flushFailures: -1 });
      await scene.client.expectUnavailable(url, {});
      scene.faults.set({ flushFailures: 1 });
      expectUnavailable(await scene.client.create(url));
      expect(await scene.client.create(url)).toMatchObject({ status: 200 });
      await scene.expectNothingLost();
    }, LOG_OF_STORE),
  );

  it.concurrent('creates get 503 while writes fail as on a read-only file system', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ writeErrno: constants.errno.EROFS });
      await scene.client.expectUnavailable(url, {});
      scene.faults.set({ writeErrno: 0 });
      expect(await scene.client.create(url)).toMatchObject({ status: 200 });
      await scene.expectNothingLost();
    }, LOG_OF_STORE),
  );

  it.concurrent('of whose flushes one in ten fails, nothing acknowledged is lost', () =>
    Scene.play(
      async (scene) => {
        const url = await scene.serve();
        scene.faults.set({ flushFailureStep: 10 });
        const answers = await createMany(scene, url, 600);
        const refused = withStatus(answers, 503);
        refused.forEach(expectUnavailable);
        expect(refused).not.toEqual([]);
        expect(withStatus(answers, 200)).toHaveLength(answers.length - refused.length);
        scene.faults.set({ flushFailureStep: 0 });
        await scene.expectNothingLost();
      },
      { suffix: '' },
    ),
  );

  it.concurrent('whose flushes take seconds, creates get 200 or 503 in time', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ flushMs: 3_000 });
      const { result, ms } = await timed(createMany(scene, url, 16));
      expect(ms).toBeLessThan(WRITE_TIMEOUT_MS + SLACK);
      withStatus(result, 503).forEach(expectUnavailable);
      expect(withStatus(result, 200).length).toBeGreaterThan(0);
      expect(withStatus(result, 200).length + withStatus(result, 503).length).toBe(16);
      scene.faults.set({ flushMs: 0 });
      await scene.expectNothingLost();
    }, LOG_OF_STORE),
  );

  it.concurrent('creates are answered 503 in time while a flush hangs, and then 200 again', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ flushHang: 1 });
      const creates = timed(scene.client.expectUnavailable(url, { isSlow: true }));
      await scene.faults.hang();
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      expect((await fetch(`${url}/health/ready`)).status).toBe(503);
      expect((await creates).ms).toBeLessThan(WRITE_TIMEOUT_MS + SLACK);
      scene.faults.set({ flushHang: 0 });
      while ((await fetch(`${url}/health/ready`)).status !== 200) await sleep(50);
      expect(await scene.client.create(url)).toMatchObject({ status: 200 });
      await scene.expectNothingLost();
    }, LOG_OF_STORE),
  );

  it.concurrent('a create is answered in time though the clock is set back an hour', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ flushHang: 1 });
      const create = timed(scene.client.create(url));
      await scene.faults.hang();
      scene.faults.set({ clockMs: -3_600_000 });
      const { result, ms } = await create;
      expectUnavailable(result);
      expect(ms).toBeLessThan(WRITE_TIMEOUT_MS + SLACK);
    }, LOG_OF_STORE),
  );

  it.concurrent('a stop is forced while a flush hangs: creates get 503 first', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ flushHang: 1 });
      const create = scene.client.create(url);
      await scene.faults.hang();
      scene.program.kill('SIGTERM');
      const { result, ms } = await timed(scene.program.exited());
      expect(result).toBe(null);
      expect(ms).toBeLessThan(LONGEST_STOP);
      expectUnavailable(await create);
      expect(scene.program.output).toContain('The stop is forced');
    }, LOG_OF_STORE),
  );

  it.concurrent('a second signal ends the program at once while a flush hangs', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ flushHang: 1 });
      const create = scene.client.create(url).catch(() => undefined);
      await scene.faults.hang();
      scene.program.kill('SIGTERM');
      await sleep(1_100);
      scene.program.kill('SIGTERM');
      const { result, ms } = await timed(scene.program.exited());
      expect(result).toBe(null);
      expect(ms).toBeLessThan(SLACK);
      expect(await create).toBe(undefined);
    }, LOG_OF_STORE),
  );

  it.concurrent('a stop is forced while the log cannot be written', async () => {
    const PORT = String(await freePort());
    const logToFile = "import fs from 'node:fs'; fs.closeSync(1); fs.openSync('log', 'w')";
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(logToFile)}`;
    await Scene.play(
      async (scene) => {
        const isServing = (): Promise<boolean> =>
          fetch(`http://127.0.0.1:${PORT}/health/live`).then(
            ({ ok }) => ok,
            () => false,
          );
        while (!(await isServing())) await sleep(10);
        scene.faults.set({ writeHang: 1 });
        scene.program.kill('SIGTERM');
        const { result, ms } = await timed(scene.program.exited());
        expect(result).toBe(null);
        expect(ms).toBeLessThan(LONGEST_STOP);
      },
      { suffix: '/log', env: { PORT, NODE_OPTIONS } },
    );
  });

  it.concurrent('a start fails if the folders above a new store cannot be flushed', () =>
    Scene.play(
      async ({ program }) => {
        expect(await program.exited()).toBe(1);
        expect(program.errors).toMatch(/^The database cannot be used: [^/]+ failed\n$/);
      },
      {
        suffix: '/new',
        wrong: { flushFailures: -1 },
        env: { DATABASE_URL: 'sqlite:new/store/plants.db' },
      },
    ),
  );

  // What a killed program wrote and did not flush is in memory still: the next one finds it.
  it.concurrent('a plant that a crash left unflushed is not acknowledged until it is', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ flushHang: 1 });
      const create = scene.client.create(url).catch(() => undefined);
      await scene.faults.hang();
      await scene.kill();
      await create;
      scene.faults.set({ flushHang: 0, flushFailures: -1 });
      const refusal = await scene
        .start()
        .listening()
        .then((address) => scene.client.retry(address))
        .catch(() => undefined);
      expect(refusal?.status).not.toBe(409);
      await scene.kill();
      scene.faults.set({ flushFailures: 0 });
      const answer = await scene.client.retry(await scene.start().listening());
      expect(answer).toMatchObject({ body: { error: 40_901 } });
      await scene.expectNothingLost();
    }, LOG_OF_STORE),
  );
});

/** Large plants are refused until there is space again, and nothing is lost. */
function surviveFullDisk(
  fill: (scene: Scene) => Promise<unknown>,
  free: (scene: Scene) => Promise<unknown>,
) {
  return async (scene: Scene): Promise<void> => {
    const url = await scene.serve();
    await fill(scene);
    await scene.client.expectUnavailable(url, { name: LARGE_NAME });
    await free(scene);
    expect(await scene.client.create(url, LARGE_NAME)).toMatchObject({ status: 200 });
    await scene.expectNothingLost();
  };
}

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

(hasPrlimit ? it : it.skip)('a file that may not grow is survived (prlimit)', () => {
  const limit =
    (bytes: string) =>
    ({ program }: Scene): Promise<void> => {
      execFileSync('prlimit', ['--pid', String(program.pid), `--fsize=${bytes}:`]);
      return Promise.resolve();
    };
  return Scene.play(surviveFullDisk(limit('16384'), limit('unlimited')));
});

function mountSmallDisk(folder: string): boolean {
  return spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0;
}

function unmount(folder: string): void {
  execFileSync('umount', [folder]);
}

/** Whether file systems may be mounted, as by root. */
function mayMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-'));
  const isMounted = mountSmallDisk(folder);
  if (isMounted) unmount(folder);
  rmdirSync(folder);
  return isMounted;
}

(mayMount() ? it : it.skip)('a disk that is full is survived (root)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  mountSmallDisk(folder);
  const filler = join(folder, 'filler');
  const fill = (): Promise<unknown> =>
    expect(writeFile(filler, Buffer.alloc(2 ** 20))).rejects.toThrow('ENOSPC');
  try {
    await Scene.playIn(
      folder,
      surviveFullDisk(fill, () => unlink(filler)),
    );
  } finally {
    unmount(folder);
    await rm(folder, { recursive: true });
  }
});
