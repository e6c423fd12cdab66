import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { JobRunner } from '../../src/platform/database/job-runner.js';
import { JobRun } from '../../src/platform/database/jobs/job-run.entity.js';
import { ApiError } from '../../src/platform/errors/api-error.js';
import { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';
import { passSeconds, resetClocks, stopClock } from '../support/clock.js';
import { type EntityStore, openEntityStore } from '../support/entity-store.js';
import { until } from '../support/until.js';

const DAY = new Date('2026-11-22T00:00:00Z');
const NEXT_DAY = new Date('2026-11-23T00:00:00Z');

let store: EntityStore;
let one: JobRunner;
let other: JobRunner;

beforeEach(async () => {
  Logger.overrideLogger(false);
  store = await openEntityStore([JobRun]);
  one = new QuickRunner(store.dataSource);
  other = new QuickRunner(store.dataSource);
});
afterEach(async () => {
  resetClocks();
  await store.close();
});

/** Checks often, so that no test waits long. */
class QuickRunner extends JobRunner {
  protected override readonly renewMs = 20;
}

describe('a job', () => {
  it('is done once for a time, whichever program calls and how often', async () => {
    const work = jest.fn(() => Promise.resolve());
    const asked = [one, other, one, other].map((runner) => runner.runOnce('tidy', DAY, work));
    const done = await Promise.all(asked);
    expect(done.filter(Boolean)).toHaveLength(1);
    expect(await other.runOnce('tidy', DAY, work)).toBe(false);
    expect(work).toHaveBeenCalledTimes(1);
    expect(await other.runOnce('tidy', NEXT_DAY, work)).toBe(true);
    expect(await one.runOnce('tidy', DAY, work)).toBe(false);
    expect(await one.runOnce('water', DAY, work)).toBe(true);
    expect(work).toHaveBeenCalledTimes(3);
  });

  it('waits while the store is unavailable, before its work and after', async () => {
    const unavailable = new ApiError(ErrorCatalogue.UNAVAILABLE);
    const change = jest.spyOn(BatchedRepository.prototype, 'change');
    try {
      change.mockRejectedValueOnce(unavailable);
      const work = jest.fn(async () => {
        change.mockRejectedValueOnce(unavailable);
        await Promise.resolve();
      });
      expect(await one.runOnce('tidy', DAY, work)).toBe(true);
      expect(await other.runOnce('tidy', DAY, work)).toBe(false);
      expect(work).toHaveBeenCalledTimes(1);
    } finally {
      change.mockRestore();
    }
  });

  it('is done by another program when it fails', async () => {
    const failing = one.runOnce('tidy', DAY, () => Promise.reject(new Error('no broom')));
    await expect(failing).rejects.toThrow('no broom');
    expect(await other.runOnce('tidy', DAY, () => Promise.resolve())).toBe(true);
  });

  it('waits for the program that does it, and takes over when that program has ended', async () => {
    let hasBegun = (): void => undefined;
    const begun = new Promise<void>((resolve) => (hasBegun = resolve));
    const signals: AbortSignal[] = [];
    const stuck = one.runOnce('tidy', DAY, (signal) => {
      signals.push(signal);
      hasBegun();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    });
    const lost = expect(stuck).rejects.toThrow('Another program has taken the job tidy');
    await begun;
    const runs = store.dataSource.getRepository(JobRun);
    const { holder } = await runs.findOneByOrFail({ name: 'tidy' });
    const taken = jest.fn<(isDone: boolean) => void>();
    void other.runOnce('tidy', DAY, () => Promise.resolve()).then(taken);
    await until(async () => {
      // As if its holder had been away for longer than it may hold a job, although it renews it.
      await runs.update({ name: 'tidy', holder: holder ?? '' }, { heldUntil: '0' });
      return taken.mock.calls.length > 0;
    });
    expect(taken).toHaveBeenCalledWith(true);
    await lost;
    expect(signals[0]?.aborted).toBe(true);
  });

  it('is aborted before another program may take it over, even if the store does not answer', async () => {
    let hasBegun = (): void => undefined;
    const begun = new Promise<void>((resolve) => (hasBegun = resolve));
    stopClock();
    const run = one.runOnce('tidy', DAY, (signal) => {
      jest.spyOn(store.dataSource, 'readClock').mockReturnValue(new Promise(() => undefined));
      hasBegun();
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    });
    await begun;
    passSeconds(29.5);
    await expect(run).rejects.toThrow('could not be renewed in time');
    jest.restoreAllMocks();
  });

  it('is aborted when the program stops, which waits for its end', async () => {
    let [begin, end] = [(): void => undefined, (): void => undefined];
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const work = one.runOnce('tidy', DAY, async (signal) => {
      begin();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await new Promise<void>((resolve) => (end = resolve));
    });
    await begun;
    const stopped = one.beforeApplicationShutdown();
    const order: string[] = [];
    void stopped.then(() => order.push('stopped'));
    await nextTurn();
    order.push('ended');
    end();
    expect(await work).toBe(true);
    await stopped;
    expect(order).toEqual(['ended', 'stopped']);
  });

  it('does not begin if the program is stopped while it claims the job', async () => {
    const work = jest.fn(() => Promise.resolve());
    const asked = one.runOnce('tidy', DAY, work);
    const [result] = await Promise.allSettled([asked, one.beforeApplicationShutdown()]);
    expect(result).toMatchObject({ status: 'rejected', reason: { message: 'The program stops' } });
    expect(work).not.toHaveBeenCalled();
    expect(await other.runOnce('tidy', DAY, work)).toBe(true);
  });
});
