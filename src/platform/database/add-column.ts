import type { QueryRunner } from 'typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import { isLocked } from './postgres/postgres-errors.js';

/** How long it waits for its lock, and everybody else behind it, in milliseconds: less than they wait. */
const LOCK_TIMEOUT_MS = 50;
/** How long it lets them go on before it asks for the lock again, in milliseconds. */
const PAUSE_MS = 2_000;
const ATTEMPTS = 60;

interface NewColumn {
  readonly table: string;
  readonly column: string;
  readonly type: 'text' | 'integer' | 'bigint' | 'boolean' | 'double precision';
}

/**
 * Adds a column that may be NULL to a table that may be large and in use, in a migration. No row is
 * written: TypeORM's own `addColumn()` copies the whole table on SQLite. On PostgreSQL the statement
 * waits for transactions that use the table, and everybody else would wait behind it, so it gives
 * up soon and tries again.
 *
 * @throws Error of the driver when the table is in use for two minutes
 */
export async function addColumn(
  queryRunner: QueryRunner,
  { table, column, type }: NewColumn,
): Promise<void> {
  const { driver } = queryRunner.connection;
  const sql = `ALTER TABLE ${driver.escape(table)} ADD COLUMN ${driver.escape(column)} ${type}`;
  if (driver.options.type === 'sqlite') await queryRunner.query(sql);
  else await withLock(queryRunner, sql);
}

async function withLock(queryRunner: QueryRunner, sql: string): Promise<void> {
  await queryRunner.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  for (let attempt = 1; ; attempt++) {
    // Within the transaction of the migration this is a savepoint.
    await queryRunner.startTransaction();
    try {
      await queryRunner.query(sql);
      await queryRunner.commitTransaction();
      return;
    } catch (error) {
      await queryRunner.rollbackTransaction();
      if (!isLocked(error) || attempt === ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}
