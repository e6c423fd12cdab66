import { Logger } from '@nestjs/common';
import type { QueryRunner } from 'typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MigrationRules, MigrationSteps } from '../engine/engine.js';
import type { PostgresChangeLog } from './postgres-change-log.js';

/** The key of the advisory lock that a program holds while it executes migrations. */
const MIGRATION_LOCK = 7_252_614_403_911;

/** How often a program tries to get the migration lock, in milliseconds. */
const MIGRATION_POLL_MS = 200;

const logger = new Logger('PostgresDataSource');

export class PostgresMigrations implements MigrationRules {
  constructor(private readonly changeLog: PostgresChangeLog) {}

  async lock(queryRunner: QueryRunner): Promise<void> {
    // A statement that waits for the lock would block CREATE INDEX CONCURRENTLY in the other program.
    if (await tryLock(queryRunner)) return;
    const pids = await listLockHolders(queryRunner);
    logger.log(
      `Waiting for another program, which upgrades the schema: server process ${pids.join()}`,
    );
    do {
      await sleep(MIGRATION_POLL_MS);
    } while (!(await tryLock(queryRunner)));
  }

  prepare(queryRunner: QueryRunner): Promise<MigrationSteps> {
    return Promise.resolve({
      alterTable: async (alter) => {
        const result = await alter();
        await this.changeLog.updateFunctions(queryRunner);
        return result;
      },
      finish: () => Promise.resolve(),
    });
  }
}

/** The lock ends with the connection, which a runner without a time limit closes. */
async function tryLock(queryRunner: QueryRunner): Promise<boolean> {
  const sql = 'SELECT pg_try_advisory_lock($1) AS taken';
  const [lock] = (await queryRunner.query(sql, [MIGRATION_LOCK])) as { taken: boolean }[];
  return lock?.taken === true;
}

/** Lists the processes of the server that have the migration lock. */
async function listLockHolders(queryRunner: QueryRunner): Promise<number[]> {
  const sql = `SELECT pid FROM pg_locks
               WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                 AND (classid::bigint << 32) + objid::bigint = $1`;
  const holders = (await queryRunner.query(sql, [MIGRATION_LOCK])) as { pid: number }[];
  return holders.map(({ pid }) => pid);
}
