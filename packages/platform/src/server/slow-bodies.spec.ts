import { expect, it, jest } from '@jest/globals';
import { SlowWork } from '../limits/slow-work.js';
import { until } from '../testing/until.js';
import { SlowBodies } from './slow-bodies.js';

it('a request whose client has gone takes no turn from the next one', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  const slowBodies = new SlowBodies(new SlowWork());
  const read: string[] = [];
  const add = (name: string, destroyed: boolean): void => {
    slowBodies.readInTurn('a client', { destroyed, readOn: () => read.push(name) });
  };
  add('first', false);
  for (let index = 0; index < 100; index++) add('gone', true);
  add('last', false);
  jest.runOnlyPendingTimers();
  await until(() => read.length > 1);
  expect(read).toEqual(['first', 'last']);
  jest.runAllTimers();
  jest.useRealTimers();
});
