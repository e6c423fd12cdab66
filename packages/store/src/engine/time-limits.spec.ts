import { describe, expect, it } from '@jest/globals';
import {
  MAX_WAIT_TIMEOUT_MS,
  MIN_WAIT_TIMEOUT_MS,
  TimeLimits,
  WAIT_TIMEOUT_MS,
} from './time-limits.js';

/** Times that do not divide evenly are among them. */
const WAITS = [MIN_WAIT_TIMEOUT_MS, 1_234, WAIT_TIMEOUT_MS, 19_999, MAX_WAIT_TIMEOUT_MS];

describe.each(WAITS)('if a caller waits for %d ms', (waitMs) => {
  const limits = new TimeLimits(waitMs);

  it.each([
    ['a write is refused at once', limits.maxExpectedMs, 'its wait would end', waitMs],
    ['a queue looks for late items', limits.expiryCheckMs, 'a wait ends', waitMs],
    ['a server aborts a statement', limits.statementMs, 'no answer is expected', limits.answerMs],
    ['no answer is expected', limits.answerMs, 'the caller gives up', waitMs],
    ['a connection has failed', limits.connectMs, 'the caller gives up', waitMs],
    ['the caller gives up', waitMs, 'a server ends the batch', limits.batchMs],
    [
      'a migration gives a table free',
      limits.tableLockMs,
      'a server aborts the statements behind it',
      limits.statementMs,
    ],
    ['a locked file is an error', limits.fileLockMs, 'the caller gives up', waitMs],
    [
      'emptying the log gives reads and writes free',
      limits.maxPauseMs + limits.maxStallMs,
      'the caller gives up',
      waitMs,
    ],
  ])('%s (%d ms) before %s (%d ms)', (_, before, __, after) => {
    // PostgreSQL and SQLite accept whole numbers of milliseconds, and take 0 for no limit.
    expect(Number.isInteger(before)).toBe(true);
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(after);
  });
});

it.each([0, 999, 20_001, 1_500.5, NaN, Infinity])('refuses a wait of %d ms', (waitMs) => {
  expect(() => new TimeLimits(waitMs)).toThrow('must be a whole number of milliseconds from 1000');
});
