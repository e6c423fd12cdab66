import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { StoreFailures } from './store-failures.js';

const storeFailures = new StoreFailures();
let logged: jest.Spied<Logger['error']>;

beforeEach(() => {
  jest.useFakeTimers();
  logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
});

afterEach(() => {
  jest.useRealTimers();
  logged.mockRestore();
});

it('a failure that recurs is logged once with its cause, and then by its number', () => {
  const full = new Error('The disk is full');
  for (let time = 0; time < 1_000; time++) storeFailures.report(full, { requestId: 'first' });
  expect(logged.mock.calls).toEqual([[{ requestId: 'first', err: full }]]);
  jest.advanceTimersByTime(10_000);
  expect(logged.mock.calls.slice(1)).toEqual([
    ['The store failed 999 more times in 10000 ms: The disk is full'],
  ]);
  jest.advanceTimersByTime(20_000);
  storeFailures.report(full);
  expect(logged.mock.calls.slice(2)).toEqual([[{ err: full }]]);
});

it('another failure is logged beside it', () => {
  const [one, two] = [new Error('one'), new Error('two')];
  for (const error of [one, two, one, two]) storeFailures.report(error);
  expect(logged.mock.calls).toEqual([[{ err: one }], [{ err: two }]]);
});
