import { expect, it } from '@jest/globals';
import {
  ANSWER_TIMEOUT_MS,
  BATCH_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  EXPIRY_CHECK_MS,
  FILE_LOCK_TIMEOUT_MS,
  MAX_EXPECTED_MS,
  MAX_PAUSE_MS,
  MAX_STALL_MS,
  STATEMENT_TIMEOUT_MS,
  TABLE_LOCK_TIMEOUT_MS,
  WAIT_TIMEOUT_MS,
} from './time-limits.js';

it.each([
  ['a write is refused at once', MAX_EXPECTED_MS, 'its wait would end', WAIT_TIMEOUT_MS],
  ['a queue looks for late items', EXPIRY_CHECK_MS, 'a wait ends', WAIT_TIMEOUT_MS],
  ['a server aborts a statement', STATEMENT_TIMEOUT_MS, 'no answer is expected', ANSWER_TIMEOUT_MS],
  ['no answer is expected', ANSWER_TIMEOUT_MS, 'the caller gives up', WAIT_TIMEOUT_MS],
  ['a connection has failed', CONNECT_TIMEOUT_MS, 'the caller gives up', WAIT_TIMEOUT_MS],
  ['the caller gives up', WAIT_TIMEOUT_MS, 'a server ends the batch', BATCH_TIMEOUT_MS],
  [
    'a migration gives a table free',
    TABLE_LOCK_TIMEOUT_MS,
    'a server aborts the statements behind it',
    STATEMENT_TIMEOUT_MS,
  ],
  ['a locked file is an error', FILE_LOCK_TIMEOUT_MS, 'the caller gives up', WAIT_TIMEOUT_MS],
  [
    'emptying the log gives reads and writes free',
    MAX_PAUSE_MS + MAX_STALL_MS,
    'the caller gives up',
    WAIT_TIMEOUT_MS,
  ],
])('%s (%d ms) before %s (%d ms)', (_, before, __, after) => {
  // PostgreSQL and SQLite accept whole numbers of milliseconds.
  expect(Number.isInteger(before)).toBe(true);
  expect(before).toBeLessThan(after);
});
