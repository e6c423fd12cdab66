import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SessionPool } from '../engine/engine.js';
import { type BatchOperation, BatchQueue, Failure, Refusal, RETRY } from './batch-queue.js';
import { StoreMetrics } from '../engine/store-metrics.js';
import { TimeLimits, WAIT_TIMEOUT_MS } from '../engine/time-limits.js';
import { StoreFailures } from '../engine/store-failures.js';

/** The time of the clock, in milliseconds. */
let now = 0;

beforeEach(() => {
  Logger.overrideLogger(false);
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});

afterEach(() => {
  jest.useRealTimers();
});

/** More bytes than may wait. */
const TOO_MANY = 33 * 1024 * 1024;
/** Longer than an item may wait, in milliseconds. */
const TOO_LONG = WAIT_TIMEOUT_MS + 1;

type Store = ConstructorParameters<typeof BatchQueue>[0];

/** Makes a store whose pools have so many sessions. */
function makeStore(size: number): Store {
  const session = { assertSameStore: () => undefined, release: () => Promise.resolve() };
  return makeStoreOf({ size, acquire: () => Promise.resolve(session as never) });
}

function makeStoreOf(pool: SessionPool): Store {
  return {
    pools: { writers: pool, rowReaders: pool, pageReaders: pool },
    metrics: new StoreMetrics(),
    failures: new StoreFailures(),
    timeLimits: new TimeLimits(),
  };
}

/** Makes a queue of items, each the number of its characters, that does this work for each batch. */
function makeReadQueue(
  table: string,
  work: () => Promise<unknown>,
  maxItems = 1,
  sessions = 1,
): BatchQueue<number, string> {
  const operation: BatchOperation<number, string> = {
    name: 'page',
    measure: (characters) => characters,
    execute: async (_, items) => {
      await work();
      return items.map((item) => `done ${item}`);
    },
  };
  return new BatchQueue(makeStore(sessions), 'pageReaders', table, operation, maxItems);
}

/** Makes a queue whose batches take these times one after another, in milliseconds. */
function makeSlowQueue(table: string, times: number[], sessions = 1): BatchQueue<number, string> {
  const work = async (): Promise<void> => {
    await nextTurn();
    now += times.shift() ?? 0;
  };
  return makeReadQueue(table, work, 1, sessions);
}

/** Makes a queue whose batches end when they are told to. */
function makeStuckQueue(table: string): {
  readonly queue: BatchQueue<number, string>;
  readonly endBatch: () => void;
} {
  let endBatch = (): void => undefined;
  const work = (): Promise<void> => new Promise<void>((resolve) => (endBatch = resolve));
  return { queue: makeReadQueue(table, work), endBatch: () => endBatch() };
}

function passTime(ms: number): void {
  now += ms;
  jest.advanceTimersByTime(ms);
}

const ITEMS = Array.from({ length: 20 }, (_, index) => index);

it.each([
  ['one batch was slow', [0, 300], 1],
  ['each of two sessions was slow to connect', [300, 300], 2],
])('refuses nothing because %s', async (reason, times, sessions) => {
  const queue = makeSlowQueue(reason, times, sessions);
  await Promise.all([0, 1].map((item) => queue.add(item)));
  const outcomes = await Promise.all(ITEMS.map((item) => queue.add(item)));
  expect(outcomes).toEqual(ITEMS.map((item) => `done ${item}`));
});

it('refuses at once what would wait too long when the last batches were all slow', async () => {
  const queue = makeSlowQueue('slow', [300, 300]);
  for (const item of [0, 1]) await queue.add(item);
  const outcomes = await Promise.allSettled(ITEMS.map((item) => queue.add(item)));
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(ITEMS.length);
});

it('lets the event loop run while it answers a large batch', async () => {
  const queue = makeReadQueue('large', () => nextTurn(), 1_000);
  let turns = 0;
  const countTurn = (): void => {
    turns++;
    turn = setImmediate(countTurn);
  };
  let turn = setImmediate(countTurn);
  const items = Array.from({ length: 300 }, (_, index) => index);
  const turnOfEach = await Promise.all(items.map((item) => queue.add(item).then(() => turns)));
  clearImmediate(turn);
  expect(new Set(turnOfEach).size).toBe(5);
});

it('refuses items that wait too long, in a batch or not, and then accepts as many again', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
  const { queue, endBatch } = makeStuckQueue('stuck');
  const taken = queue.add(1);
  await nextTurn();
  const waiting = queue.add(TOO_MANY);
  await expect(queue.add(1)).rejects.toMatchObject({ name: 'StoreOverloadedError' });
  passTime(1_000);
  const results = Promise.allSettled([taken, waiting]);
  passTime(TOO_LONG - 1_000);
  expect(await results).toMatchObject([
    { reason: { name: 'StoreOverloadedError' } },
    { reason: { name: 'StoreOverloadedError' } },
  ]);
  const next = queue.add(1);
  endBatch();
  await nextTurn();
  endBatch();
  expect(await next).toBe('done 1');
});

it('refuses nothing that has not waited too long', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
  const { queue, endBatch } = makeStuckQueue('late');
  const taken = queue.add(1).catch(() => 'refused');
  await nextTurn();
  passTime(2_000);
  const waiting = queue.add(2);
  passTime(TOO_LONG - 2_000);
  expect(await taken).toBe('refused');
  endBatch();
  await nextTurn();
  endBatch();
  expect(await waiting).toBe('done 2');
});

it('counts the waiting items, and not those of a batch', async () => {
  const { queue, endBatch } = makeStuckQueue('taken');
  for (let round = 0; round < 3; round++) {
    const outcome = queue.add(TOO_MANY);
    await nextTurn();
    endBatch();
    expect(await outcome).toBe(`done ${TOO_MANY}`);
  }
});

/** Makes a queue of changes, whose items are keys with a number, such as `a1`. */
function makeWriteQueue(
  maxItems: number,
  hold: (item: string) => boolean = () => false,
): {
  readonly queue: BatchQueue<string, string>;
  readonly batches: (readonly string[])[];
  /** Ends one batch after another until all these items are done. */
  readonly finish: (outcomes: readonly Promise<string>[]) => Promise<string[]>;
} {
  const batches: (readonly string[])[] = [];
  const ends: (() => void)[] = [];
  const operation: BatchOperation<string, string> = {
    name: 'write',
    measure: () => 0,
    getKey: (item) => item.charAt(0),
    execute: async (_, items) => {
      batches.push(items);
      await new Promise<void>((resolve) => ends.push(resolve));
      return items.map((item) => (hold(item) ? RETRY : item));
    },
  };
  const queue = new BatchQueue(makeStore(2), 'writers', 'rows', operation, maxItems);
  const finish = async (outcomes: readonly Promise<string>[]): Promise<string[]> => {
    const state = { isOver: false };
    const all = Promise.all(outcomes).finally(() => (state.isOver = true));
    while (!state.isOver) {
      await nextTurn();
      ends.shift()?.();
    }
    return await all;
  };
  return { queue, batches, finish };
}

it('makes the changes of a row in their order, many of them in a batch', async () => {
  const { queue, batches, finish } = makeWriteQueue(2);
  const items = ['a1', 'a2', 'a3', 'b1', 'a4', 'c1', 'b2'];
  expect(await finish(items.map((item) => queue.add(item)))).toEqual(items);
  expect(batches).toEqual([['a1', 'a2'], ['b1', 'c1'], ['a3', 'a4'], ['b2']]);
});

it('takes 32 changes of a row into a batch, so that others wait for no more of them', async () => {
  const { queue, batches, finish } = makeWriteQueue(100);
  const items = [...Array.from({ length: 40 }, (_, index) => `a${index}`), 'b1'];
  expect(await finish(items.map((item) => queue.add(item)))).toEqual(items);
  expect(batches).toEqual([[...items.slice(0, 32), 'b1'], items.slice(32, 40)]);
});

it('tries a change again whose row another session holds, before later ones of the row', async () => {
  let tries = 0;
  const isHeld = (item: string): boolean => {
    if (item === 'a1') tries++;
    return item.startsWith('a') && tries <= 3;
  };
  const { queue, batches, finish } = makeWriteQueue(10, isHeld);
  const items = ['a1', 'b1', 'a2', 'c1'];
  expect(await finish(items.map((item) => queue.add(item)))).toEqual(items);
  expect(batches).toEqual([
    ['a1', 'b1', 'a2', 'c1'],
    ['a1', 'a2'],
    ['a1', 'a2'],
    ['a1', 'a2'],
  ]);
});

it('tries a change again before changes of its row that came in the meantime', async () => {
  let tries = 0;
  const isHeld = (item: string): boolean => item === 'a1' && ++tries === 1;
  const { queue, batches, finish } = makeWriteQueue(10, isHeld);
  const first = queue.add('a1');
  await nextTurn();
  expect(await finish([first, queue.add('a2')])).toEqual(['a1', 'a2']);
  expect(batches).toEqual([['a1'], ['a1'], ['a2']]);
});

it('does not try a change again that was refused while another session held its row', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'] });
  const { queue, batches, finish } = makeWriteQueue(10, () => true);
  const outcome = queue.add('a1');
  await nextTurn();
  passTime(TOO_LONG);
  await expect(finish([outcome])).rejects.toMatchObject({ name: 'StoreOverloadedError' });
  await nextTurn();
  passTime(100);
  await nextTurn();
  expect(batches).toEqual([['a1']]);
});

it('counts the bytes of an item that waits to be tried again', async () => {
  let tries = 0;
  const operation: BatchOperation<number, number> = {
    name: 'write',
    measure: (bytes) => bytes,
    getKey: String,
    execute: (_, items) => Promise.resolve(tries++ === 0 ? items.map(() => RETRY) : items),
  };
  const queue = new BatchQueue(makeStore(1), 'writers', 'retried', operation, 10);
  const outcome = queue.add(TOO_MANY);
  await nextTurn();
  await expect(queue.add(1)).rejects.toMatchObject({ name: 'StoreOverloadedError' });
  expect(await outcome).toBe(TOO_MANY);
});

it('fails all items of a batch that has fewer results than items', async () => {
  const operation: BatchOperation<number, number> = {
    name: 'page',
    execute: (_, items) => Promise.resolve(items.slice(1)),
  };
  const queue = new BatchQueue(makeStore(1), 'pageReaders', 'short', operation, 10);
  const outcomes = await Promise.allSettled([1, 2].map((item) => queue.add(item)));
  const unavailable = { status: 'rejected', reason: { name: 'StoreOverloadedError' } };
  expect(outcomes).toMatchObject([unavailable, unavailable]);
});

it('fails only the items that have waited for a session when none can be had', async () => {
  let failFirst = (): void => undefined;
  const acquisitions = [
    new Promise<never>((_, reject) => (failFirst = () => reject(new Error('none is free')))),
  ];
  const others = makeStore(1).pools.pageReaders;
  const acquire: SessionPool['acquire'] = () => acquisitions.shift() ?? others.acquire();
  const operation: BatchOperation<number, number> = {
    name: 'page',
    execute: (_, items) => Promise.resolve(items),
  };
  const queue = new BatchQueue(
    makeStoreOf({ size: 1, acquire }),
    'pageReaders',
    'late',
    operation,
    10,
  );
  const waited = queue.add(1);
  now += 1_000;
  const fresh = queue.add(2);
  failFirst();
  await expect(waited).rejects.toMatchObject({ name: 'StoreOverloadedError' });
  expect(await fresh).toBe(2);
});

describe('an item that the database refuses', () => {
  /** Makes a queue whose batches take 30 milliseconds, and that refuses negative items. */
  function makeRefusingQueue(): BatchQueue<number, number> {
    const operation: BatchOperation<number, number> = {
      name: 'write',
      execute: async (_, items) => {
        await nextTurn();
        now += 30;
        return items.map((item) => (item < 0 ? new Refusal(item) : item));
      },
    };
    return new BatchQueue(makeStore(1), 'writers', 'refusing', operation, 10);
  }

  beforeEach(() => {
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance'],
    });
  });

  it('is answered at once if it is alone', async () => {
    await expect(makeRefusingQueue().add(-1)).rejects.toBe(-1);
  });

  it('is answered after three times as long as its batch took, and the others at once', async () => {
    const queue = makeRefusingQueue();
    const events: string[] = [];
    const refused = queue.add(-1).catch(() => events.push('refused'));
    await queue.add(1);
    await nextTurn();
    passTime(89);
    await queue.add(2).then(() => events.push('stored'));
    passTime(1);
    await refused;
    expect(events).toEqual(['stored', 'refused']);
  });

  it('is answered within a second, however many others are refused meanwhile', async () => {
    const queue = makeRefusingQueue();
    let isRefused = false;
    void queue.add(-1).catch(() => (isRefused = true));
    await queue.add(1);
    for (let time = 0; time < 1_000; time += 30) {
      void queue.add(-1).catch(() => undefined);
      await queue.add(1);
      await nextTurn();
      jest.advanceTimersByTime(30);
    }
    await nextTurn();
    expect(isRefused).toBe(true);
  });
});

it('rejects with what an item fails with, though that is no error', async () => {
  const operation: BatchOperation<string, string> = {
    name: 'write',
    execute: (_, items) => Promise.resolve(items.map((item) => new Failure(item))),
  };
  const queue = new BatchQueue(makeStore(1), 'writers', 'thrown', operation, 10);
  await expect(queue.add('a text')).rejects.toBe('a text');
});
