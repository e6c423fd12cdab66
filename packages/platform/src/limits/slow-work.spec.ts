import { expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SlowWork } from './slow-work.js';

/** Lets iterations of the event loop pass. Each of the first ones accepts a connection. */
async function pass(work: SlowWork, iterations: number, accepting: number): Promise<void> {
  for (let index = 0; index < iterations; index++) {
    if (index < accepting) work.countConnection();
    await nextTurn();
  }
}

it('runs one piece in an iteration of the event loop, in order', async () => {
  const work = new SlowWork();
  const run: string[] = [];
  const perIteration: number[] = [];
  const add = (...names: string[]): void => {
    for (const name of names) work.run(() => run.push(name));
  };
  work.run(() => {
    run.push('first');
    // The queue is empty by then.
    queueMicrotask(() => add('second', 'third', 'fourth'));
  });
  while (run.length < 4) {
    const before = run.length;
    await nextTurn();
    perIteration.push(run.length - before);
  }
  expect(run).toEqual(['first', 'second', 'third', 'fourth']);
  expect(Math.max(...perIteration)).toBe(1);
});

it('waits while connections are accepted, but not for ever', async () => {
  const work = new SlowWork();
  const run: string[] = [];
  work.run(() => run.push('during a burst'));
  await pass(work, 20, 20);
  expect(run).toEqual([]);
  await pass(work, 4, 0);
  expect(run).toEqual(['during a burst']);
  work.run(() => run.push('during a flood'));
  await pass(work, 40, 40);
  expect(run).toEqual(['during a burst', 'during a flood']);
});

it('runs a piece that comes when all others have been run', async () => {
  const work = new SlowWork();
  await new Promise<void>((resolve) => work.run(resolve));
  await pass(work, 4, 0);
  await expect(new Promise<void>((resolve) => work.run(resolve))).resolves.toBeUndefined();
});
