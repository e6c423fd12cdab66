import { afterAll, describe, expect, it } from '@jest/globals';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { WRITE_TIMEOUT_MS } from '../../src/platform/config/env.js';
import { Faults } from '../support/faults.js';
import { expectUnavailable } from '../support/plant-client.js';
import { LOG_OF_STORE, LONGEST_STOP, Scene, SLACK, timed } from '../support/scene.js';

afterAll(() => Scene.close());

// More of it, in test/programs, is for `npm run test:programs`.
(Faults.areSupported ? describe : describe.skip)('with a sick disk (Linux, cc)', () => {
  it.concurrent(
    'creates get 503 while flushes fail, or writes do as on a read-only file system',
    () =>
      Scene.play(async (scene) => {
        const url = await scene.serve();
        scene.faults.set({ flushFailures: -1 });
        await scene.client.expectUnavailable(url, {});
        scene.faults.set({ flushFailures: 1 });
        expectUnavailable(await scene.client.create(url));
        expect(await scene.client.create(url)).toMatchObject({ status: 200 });

        scene.faults.set({ writeErrno: constants.errno.EROFS });
        await scene.client.expectUnavailable(url, {});
        scene.faults.set({ writeErrno: 0 });
        expect(await scene.client.create(url)).toMatchObject({ status: 200 });
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

  it.concurrent(
    'a stop is forced while a flush hangs: creates get 503 first, though the clock is set back',
    () =>
      Scene.play(async (scene) => {
        const url = await scene.serve();
        scene.faults.set({ flushHang: 1 });
        const create = timed(scene.client.create(url));
        await scene.faults.hang();
        scene.faults.set({ clockMs: -3_600_000 });
        scene.program.kill('SIGTERM');
        const { result, ms } = await timed(scene.program.exited());
        expect(result).toBe(null);
        expect(ms).toBeLessThan(LONGEST_STOP + SLACK);
        const answered = await create;
        expectUnavailable(answered.result);
        expect(answered.ms).toBeLessThan(WRITE_TIMEOUT_MS + SLACK);
        expect(scene.program.output).toContain('The stop is forced');
      }, LOG_OF_STORE),
  );
});
