import { beforeEach, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BatchOperation, BatchQueue } from './batch-queue.js';

/** What the clock says, in milliseconds. */
let now = 0;

beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => now);
});

/** A queue of which each batch does so many items, and takes as long as the next of these times, in milliseconds. */
function queueOf(table: string, times: number[] = [], maxItems = 1): BatchQueue<number, string> {
  const operation: BatchOperation<number, string> = {
    name: 'page',
    measure: () => 0,
    execute: async (_, items) => {
      await nextTurn();
      now += times.shift() ?? 0;
      return items.map((item) => `done ${item}`);
    },
  };
  const session = { assertStored: () => undefined, release: () => undefined };
  const sessions = { size: 1, acquire: () => Promise.resolve(session as never) };
  return new BatchQueue(table, operation, 'read', sessions, maxItems);
}

const ITEMS = Array.from({ length: 20 }, (_, index) => index);

it('refuses nothing because one batch was slow', async () => {
  const queue = queueOf('once', [0, 300]);
  await queue.add(0);
  await queue.add(1);
  const outcomes = await Promise.all(ITEMS.map((item) => queue.add(item)));
  expect(outcomes).toEqual(ITEMS.map((item) => `done ${item}`));
});

it.each([
  ['the only batch before was slow', [300]],
  ['the last batches were all slow', [300, 300]],
])('refuses at once what would wait too long when %s', async (reason, times) => {
  const queue = queueOf(reason, [...times]);
  for (const item of times.keys()) await queue.add(item);
  const outcomes = await Promise.allSettled(ITEMS.map((item) => queue.add(item)));
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(ITEMS.length);
});

it('lets the event loop go on while it answers a large batch', async () => {
  const queue = queueOf('large', [], 1_000);
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
