import { Logger } from '@nestjs/common';
import { type QueryRunner, TypeORMError } from 'typeorm';
import type { MigrationRules, MigrationSteps } from '../engine/engine.js';
import { getErrorCode } from '../engine/driver-errors.js';
import type { SqliteChangeLog } from './sqlite-change-log.js';

const logger = new Logger('Store');

interface ForeignKey {
  readonly table: string;
  readonly columns: string;
  readonly parent: string;
}

/** A migration may copy a table, as TypeORM does to change it. */
export class SqliteMigrations implements MigrationRules {
  constructor(private readonly changeLog: SqliteChangeLog) {}

  /** Waits until no other process holds the lock of the file, as a shell may do for some seconds. */
  async lock(queryRunner: QueryRunner): Promise<void> {
    for (let hasWaited = false; !(await canWrite(queryRunner)); hasWaited = true) {
      if (!hasWaited) logger.log('Waiting for another process, which has locked the SQLite file');
    }
  }

  async prepare(queryRunner: QueryRunner): Promise<MigrationSteps> {
    // Otherwise the rows that refer to a table would be removed with the original. TypeORM switches
    // foreign keys off only for some migrations, and cannot do so within their transactions.
    await queryRunner.beforeMigration();
    const triggers = await this.changeLog.listTriggers(queryRunner);
    const keys = await listForeignKeys(queryRunner);
    const restore = (): Promise<void> => this.changeLog.restoreTriggers(queryRunner, triggers);
    return {
      alterTable: async (alter) => {
        // SQLite drops no column that a trigger names.
        const known = await this.changeLog.listTriggers(queryRunner);
        await this.changeLog.dropTriggers(queryRunner, known);
        return await alter().finally(restore);
      },
      finish: async () => {
        await restore();
        await assertNoOrphans(queryRunner, keys);
      },
    };
  }
}

/** Tries to get the lock of the file. SQLite itself waits for a while. */
async function canWrite({ connection }: QueryRunner): Promise<boolean> {
  // One that got no lock refuses statements until its caller rolls back.
  const queryRunner = connection.createQueryRunner();
  try {
    await queryRunner.startTransaction();
    await queryRunner.rollbackTransaction();
    return true;
  } catch (error) {
    if (getErrorCode(error) !== 'SQLITE_BUSY') throw error;
    return false;
  } finally {
    await queryRunner.release();
  }
}

async function listForeignKeys(queryRunner: QueryRunner): Promise<ForeignKey[]> {
  return (await queryRunner.query(
    `SELECT name AS "table", group_concat("from") AS columns, key."table" AS parent
     FROM sqlite_master, pragma_foreign_key_list(name) AS key
     WHERE type = 'table' GROUP BY name, key.id`,
  )) as ForeignKey[];
}

/** @throws TypeORMError for rows that break a foreign key which the migration has made */
async function assertNoOrphans(
  queryRunner: QueryRunner,
  known: readonly ForeignKey[],
): Promise<void> {
  const texts = new Set(known.map((key) => JSON.stringify(key)));
  for (const key of await listForeignKeys(queryRunner)) {
    if (texts.has(JSON.stringify(key))) continue;
    const { table, parent } = key;
    const [orphans] = (await queryRunner.query(
      'SELECT count(*) AS count FROM pragma_foreign_key_check(?) WHERE parent = ?',
      [table, parent],
    )) as [{ count: number }];
    if (orphans.count > 0) {
      throw new TypeORMError(
        `${orphans.count} rows of ${table} refer to missing rows of ${parent}: remove or correct them before this migration`,
      );
    }
  }
}
