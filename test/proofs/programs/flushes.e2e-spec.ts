import { afterAll, describe, expect, it } from '@jest/globals';
import { constants } from 'node:os';
import { WAIT_TIMEOUT_MS } from '../../../src/platform/config/env.js';
import { Faults } from '../../support/faults.js';
import { expectUnavailable } from '../../support/plant-client.js';
import { LOG_OF_STORE, LONGEST_STOP, Scene } from '../../support/scene.js';
import { until } from '../../support/until.js';

afterAll(() => Scene.close());

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
      const creates = scene.client.expectUnavailable(url, { isSlow: true });
      await scene.faults.hang();
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      const ready = fetch(`${url}/health/ready`);
      const passed = await scene.passTimeUntil(Promise.all([creates, ready]));
      expect(passed).toBeLessThanOrEqual(WAIT_TIMEOUT_MS + 1_500);
      await creates;
      expect((await ready).status).toBe(503);
      scene.faults.set({ flushHang: 0 });
      // The check of the store's file is valid for a while.
      await scene.passTime(5_000);
      await until(async () => (await fetch(`${url}/health/ready`)).status === 200);
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
        const create = scene.client.create(url);
        await scene.faults.hang();
        scene.faults.set({ clockMs: -3_600_000 });
        scene.program.kill('SIGTERM');
        await scene.program.printed(/SIGTERM: answering the requests/);
        scene.faults.stopTime();
        const untilAnswer = await scene.passTimeUntil(create);
        expectUnavailable(await create);
        const untilEnd = await scene.passTimeUntil(scene.program.exited());
        expect(untilAnswer + untilEnd).toBeLessThanOrEqual(LONGEST_STOP);
        expect(await scene.program.exited()).toBe(null);
        expect(scene.program.output).toContain('The stop is forced');
      }, LOG_OF_STORE),
  );
});
