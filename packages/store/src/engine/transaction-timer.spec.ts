import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { TransactionTimer } from './transaction-timer.js';

beforeEach(() => {
  Logger.overrideLogger(false);
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

it('interrupts a statement until it is stopped, since others get the connection then', () => {
  const interrupt = jest.fn();
  const timer = new TransactionTimer();
  timer.start(1_000, () => undefined, interrupt);
  jest.advanceTimersByTime(999);
  expect(interrupt).not.toHaveBeenCalled();
  jest.advanceTimersByTime(1_000);
  const calls = interrupt.mock.calls.length;
  expect(calls).toBeGreaterThan(1);
  timer.stop();
  jest.advanceTimersByTime(10_000);
  expect(interrupt).toHaveBeenCalledTimes(calls);
});
