import { Logger } from '@nestjs/common';
import { type QueryRunner, TypeORMError } from 'typeorm';
import type { MigrationRules, MigrationSteps } from '../engine/engine.js';
import { getErrorCode } from '../engine/driver-errors.js';
import type { SqliteChangeLog } from './sqlite-change-log.js';

const logger = new Logger('Store');

interface ForeignKey {
  readonly table: string;
  /** The number of the key among the keys of its table, which may change with the table. */
  readonly id: number;
  readonly parent: string;
  /** What the key says: two keys with the same text are equal. */
  readonly text: string;
}

/**
 * Lets a migration replace a table by a changed copy, as TypeORM does to change a table: no rows are
 * lost, and the triggers of the feed are restored.
 */
export class SqliteMigrations implements MigrationRules {
  constructor(private readonly changeLog: SqliteChangeLog) {}

  /**
   * Waits until no other process holds the lock of the file, as a shell may do for some seconds. Other
   * programs are kept out already, since this program has locked the store.
   */
  async lock(queryRunner: QueryRunner): Promise<void> {
    if (await canWrite(queryRunner)) return;
    logger.log('Waiting for another process, which has locked the SQLite file');
    // SQLite itself waits for a while in each attempt.
    while (!(await canWrite(queryRunner)));
  }

  async prepare(queryRunner: QueryRunner): Promise<MigrationSteps> {
    // This switches foreign keys off. With them, dropping the original of a copied table would also
    // remove the rows that refer to it. TypeORM switches them off only for some migrations, and cannot
    // do so within their transactions.
    await queryRunner.beforeMigration();
    const triggersBefore = await this.changeLog.listTriggers(queryRunner);
    const keysBefore = await listForeignKeys(queryRunner);
    const restoreTriggers = (): Promise<void> =>
      this.changeLog.restoreTriggers(queryRunner, triggersBefore);
    return {
      alterTable: async (alter) => {
        // SQLite refuses to drop a column that a trigger names.
        const triggers = await this.changeLog.listTriggers(queryRunner);
        await this.changeLog.dropTriggers(queryRunner, triggers);
        return await alter().finally(restoreTriggers);
      },
      finish: async () => {
        await restoreTriggers();
        await assertNoOrphans(queryRunner, keysBefore);
      },
    };
  }
}

/** Tries to get the lock of the file, and gives it back at once. */
async function canWrite({ connection }: QueryRunner): Promise<boolean> {
  // This needs a query runner of its own: after a BEGIN that failed, a query runner refuses statements
  // until its caller rolls back.
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
    `SELECT name AS "table", key.id, key."table" AS parent,
       json_array(name, key."table", group_concat("from"), group_concat("to")) AS text
     FROM sqlite_master, pragma_foreign_key_list(name) AS key
     WHERE type = 'table' GROUP BY name, key.id`,
  )) as ForeignKey[];
}

/**
 * Checks the foreign keys that the migration has made.
 *
 * @throws TypeORMError when rows break one of them
 */
async function assertNoOrphans(
  queryRunner: QueryRunner,
  keysBefore: readonly ForeignKey[],
): Promise<void> {
  const textsBefore = new Set(keysBefore.map(({ text }) => text));
  const keys = await listForeignKeys(queryRunner);
  const newKeys = keys.filter(({ text }) => !textsBefore.has(text));
  for (const { table, id, parent } of newKeys) {
    const [orphans] = (await queryRunner.query(
      'SELECT count(*) AS count FROM pragma_foreign_key_check(?) WHERE fkid = ?',
      [table, id],
    )) as [{ count: number }];
    if (orphans.count > 0) {
      throw new TypeORMError(
        `${orphans.count} rows of ${table} refer to missing rows of ${parent}: remove or correct them before this migration`,
      );
    }
  }
}
