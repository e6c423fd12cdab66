import type { jest } from '@jest/globals';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';

/** PostgreSQL's code for a deadlock. */
const DEADLOCK = '40P01';

const NO_TIMEOUT = { name: 'no-timeout', text: "SELECT set_config('lock_timeout', '0', false)" };

/** Lets the writers of a PostgreSQL store wait for locks until the server finds a deadlock. */
export async function removeLockTimeout({ pools }: StoreDataSource): Promise<void> {
  const { writers } = pools;
  const sessions = await Promise.all(Array.from({ length: writers.size }, () => writers.acquire()));
  for (const session of sessions) {
    await session.query(NO_TIMEOUT, []);
    await session.release(false);
  }
}

/** Counts the statements that failed by a deadlock, also those that were repeated. */
export async function countDeadlocks(
  query: jest.Spied<(...args: never[]) => unknown>,
): Promise<number> {
  const answers = await Promise.allSettled(query.mock.results.map(({ value }) => value));
  const isDeadlock = (answer: PromiseSettledResult<unknown>): boolean =>
    answer.status === 'rejected' && (answer.reason as { code?: unknown }).code === DEADLOCK;
  return answers.filter(isDeadlock).length;
}
