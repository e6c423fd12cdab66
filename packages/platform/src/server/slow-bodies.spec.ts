import { expect, it, jest } from '@jest/globals';
import { SlowBodies } from './slow-bodies.js';

it('a request whose client has gone takes no turn from the next one', () => {
  jest.useFakeTimers();
  const slowBodies = new SlowBodies();
  const read: string[] = [];
  const add = (name: string, destroyed: boolean): void => {
    slowBodies.readInTurn('a client', { destroyed, readOn: () => read.push(name) });
  };
  add('first', false);
  for (let index = 0; index < 100; index++) add('gone', true);
  add('last', false);
  jest.runOnlyPendingTimers();
  expect(read).toEqual(['first', 'last']);
  jest.runAllTimers();
  jest.useRealTimers();
});
