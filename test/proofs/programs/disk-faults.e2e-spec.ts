import { afterAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Faults } from '../../support/faults.js';
import { freePort } from '../../support/free-port.js';
import { expectUnavailable, LARGE_NAME } from '../../support/plant-client.js';
import { LOG_OF_STORE, LONGEST_STOP, Scene } from '../../support/scene.js';
import type { Answer } from '../../support/test-app.js';
import { hasTool, mayMount, mountMemory, unmount } from '../../support/tools.js';
import { until } from '../../support/until.js';

afterAll(() => Scene.close());

/** Sends this many creates, on 16 connections one after another. */
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

(Faults.areSupported ? describe : describe.skip)('with a sick disk (Linux, cc)', () => {
  it.concurrent('of whose flushes one in ten fails, nothing acknowledged is lost', () =>
    Scene.play(
      async (scene) => {
        const url = await scene.serve();
        scene.faults.set({ flushFailureStep: 10 });
        const answers = await createMany(scene, url, 200);
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
      const result = await createMany(scene, url, 16);
      withStatus(result, 503).forEach(expectUnavailable);
      expect(withStatus(result, 200).length).toBeGreaterThan(0);
      expect(withStatus(result, 200).length + withStatus(result, 503).length).toBe(16);
      scene.faults.set({ flushMs: 0 });
      await scene.expectNothingLost();
    }, LOG_OF_STORE),
  );

  it.concurrent('a second signal ends the program at once while a flush hangs', () =>
    Scene.play(async (scene) => {
      const url = await scene.serve();
      scene.faults.set({ flushHang: 1 });
      const create = scene.client.create(url).catch(() => undefined);
      await scene.faults.hang();
      scene.program.kill('SIGTERM');
      await scene.program.printed(/SIGTERM: answering the requests/);
      scene.faults.stopTime();
      await scene.passTime(1_100);
      scene.program.kill('SIGTERM');
      expect(await scene.passTimeUntil(scene.program.exited())).toBeLessThanOrEqual(1_000);
      expect(await scene.program.exited()).toBe(null);
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
        await until(isServing);
        scene.faults.set({ writeHang: 1 });
        scene.program.kill('SIGTERM');
        await until(async () => !(await isServing()));
        const passed = await scene.passTimeUntil(scene.program.exited());
        expect(passed).toBeLessThanOrEqual(LONGEST_STOP);
        expect(await scene.program.exited()).toBe(null);
      },
      { suffix: '/log', env: { PORT, NODE_OPTIONS } },
    );
  });

  it.concurrent('a start fails if the folders above a new store cannot be flushed', () =>
    Scene.play(
      async ({ program }) => {
        expect(await program.exited()).toBe(1);
        expect(program.errors).toMatch(
          /^The store cannot be used, the SQLite file \S+: [^/]+ failed\n$/,
        );
      },
      {
        suffix: '/new',
        wrong: { flushFailures: -1 },
        env: { DATABASE_URL: 'sqlite:new/store/plants.db' },
      },
    ),
  );

  // Unflushed writes of a killed program are still in the system's memory, where the next program
  // finds them.
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

/** Expects large plants to be refused until there is space again, and nothing to be lost. */
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

(hasTool('prlimit') ? it : it.skip)('a file that may not grow is survived (prlimit)', () => {
  const limit =
    (bytes: string) =>
    ({ program }: Scene): Promise<void> => {
      execFileSync('prlimit', ['--pid', String(program.pid), `--fsize=${bytes}:`]);
      return Promise.resolve();
    };
  return Scene.play(surviveFullDisk(limit('16384'), limit('unlimited')));
});

const itWithMount = hasTool('right to mount', mayMount) ? it : it.skip;

itWithMount('a disk that is full is survived (root)', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-'));
  mountMemory(folder, 'size=1m');
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
