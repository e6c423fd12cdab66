import { setTimeout as sleep } from 'node:timers/promises';
import type { QueryRunner } from 'typeorm';
import { isLocked } from './postgres-errors.js';

/**
 * How long a change of a table waits for its lock, in milliseconds. All other statements on the
 * table wait behind it, so this is less than their own time limit.
 */
const TABLE_LOCK_TIMEOUT_MS = 50;
/** How long the other statements may run before the next attempt, in milliseconds. */
const PAUSE_MS = 2_000;
const ATTEMPTS = 60;

/**
 * Executes work in a transaction that locks tables. While it waits for transactions that use them,
 * all others wait behind it. So it soon gives up and tries again later.
 *
 * @throws Error of the driver when the tables are in use for two minutes
 */
export async function withBriefLocks(
  queryRunner: QueryRunner,
  work: () => Promise<unknown>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    // Within the transaction of a migration this is a savepoint.
    await queryRunner.startTransaction();
    try {
      await queryRunner.query(`SET LOCAL lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`);
      await work();
      await queryRunner.commitTransaction();
      return;
    } catch (error) {
      await queryRunner.rollbackTransaction();
      if (!isLocked(error) || attempt === ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
