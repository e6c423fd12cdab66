import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { FairWriteLock, type ReleaseLock } from './fair-write-lock.js';

let lock: FairWriteLock;
/** The writers that got the lock, in their order. */
let granted: string[];

beforeEach(() => {
  Logger.overrideLogger(false);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  lock = new FairWriteLock();
  granted = [];
});

afterEach(() => {
  jest.useRealTimers();
});

/** Takes the lock, and passes it on in the next turn. */
async function write(name: 'batch' | 'other', origin?: Error): Promise<void> {
  const release = await (name === 'batch' ? lock.acquireForBatch() : lock.acquire(origin));
  granted.push(name);
  await nextTurn();
  release();
}

describe('the lock to write', () => {
  it('goes to a batch and to another writer in turn, while both wait', async () => {
    const release = await lock.acquireForBatch();
    const names = ['batch', 'batch', 'other', 'other'] as const;
    const writes = names.map((name) => write(name));
    release();
    await Promise.all(writes);
    expect(granted).toEqual(['other', 'batch', 'other', 'batch']);
  });

  it('goes to the waiting writers if all are of one kind', async () => {
    const release = await lock.acquire();
    const writes = (['other', 'other', 'batch'] as const).map((name) => write(name));
    release();
    await Promise.all(writes);
    expect(granted).toEqual(['batch', 'other', 'other']);
  });

  it('is passed on once, however often it is released', async () => {
    const release = await lock.acquireForBatch();
    const waiting = lock.acquire();
    release();
    const second = await waiting;
    const third = lock.acquire() as Promise<ReleaseLock>;
    release();
    let isGranted = false;
    void third.then(() => (isGranted = true));
    await nextTurn();
    expect(isGranted).toBe(false);
    second();
    await third;
  });

  it('is refused to a writer that has waited too long, and goes to the next one', async () => {
    const warned = jest.spyOn(Logger.prototype, 'warn');
    const release = await lock.acquire(new Error('the transaction that holds the lock'));
    const late = write('other');
    jest.advanceTimersByTime(WAIT_TIMEOUT_MS - 1);
    const inTime = write('other');
    const refused = expect(late).rejects.toMatchObject({ status: 503 });
    jest.advanceTimersByTime(1);
    await refused;
    expect(warned).toHaveBeenCalledWith(
      expect.stringContaining('the transaction that holds the lock'),
    );
    release();
    await inTime;
    expect(granted).toEqual(['other']);
    warned.mockRestore();
  });
});
