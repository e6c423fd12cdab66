import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource, QueryRunner } from 'typeorm';
import type { ColumnType } from '../entities/columns.js';
import { SchemaSteps, type TypeOptions } from '../engine/schema-steps.js';
import type { StoreDataSource } from '../engine/store-data-source.js';
import { postgresErrors } from './postgres-errors.js';

/** The schema of new tables. A cast of its name to regnamespace would lower its capitals. */
export const CURRENT_SCHEMA = '(SELECT oid FROM pg_namespace WHERE nspname = current_schema())';

/** Quotes the schema that was the current one when the data source was opened. */
export function quoteSchema({ driver }: DataSource): string {
  return `"${String(driver.schema).replaceAll('"', '""')}"`;
}

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
  const { tableLockMs } = (queryRunner.connection as StoreDataSource).timeLimits;
  for (let attempt = 1; ; attempt++) {
    try {
      // Within the transaction of a migration this is a savepoint.
      await queryRunner.manager.transaction(async () => {
        await queryRunner.query(`SET LOCAL lock_timeout = ${tableLockMs}`);
        await work();
      });
      return;
    } catch (error) {
      if (postgresErrors.findCause(error) !== 'lock' || attempt === ATTEMPTS) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Other programs use the database at the same time, so nothing here blocks a table for long. */
export class PostgresSchemaSteps extends SchemaSteps {
  async dropIndex(name: string): Promise<void> {
    const { isTransactionActive, connection } = this.queryRunner;
    const how = isTransactionActive ? '' : 'CONCURRENTLY';
    // The index of another service in the database may have the name too.
    const index = `${quoteSchema(connection)}.${this.escape(name)}`;
    await this.queryRunner.query(`DROP INDEX ${how} IF EXISTS ${index}`);
  }

  protected describeType(type: ColumnType): TypeOptions {
    return type;
  }

  protected async alterTable(table: string, change: string): Promise<void> {
    const { queryRunner } = this;
    const sql = `ALTER TABLE ${this.escape(table)} ${change}`;
    await withBriefLocks(queryRunner, () => queryRunner.query(sql));
  }

  /** @throws TypeError in a transaction that has not created the table: others could not write to it */
  protected async prepareIndex(name: string, table: string): Promise<string | undefined> {
    const { queryRunner } = this;
    const [existing] = (await queryRunner.query(
      `SELECT indisvalid AS "isValid" FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
       WHERE relname = $1 AND relnamespace = ${CURRENT_SCHEMA}`,
      [name],
    )) as { isValid: boolean }[];
    if (existing?.isValid === true) return undefined;
    // A program ended while it was creating the index.
    if (existing !== undefined) await this.dropIndex(name);
    if (!queryRunner.isTransactionActive) return 'CONCURRENTLY';
    // The row type of a table is written only when the table is created.
    const known = (await queryRunner.query(
      'SELECT 1 FROM pg_type WHERE typrelid = $1::regclass AND age(xmin) <> 0',
      [this.escape(table)],
    )) as unknown[];
    if (known.length === 0) return '';
    throw new TypeError(
      `The index ${name} cannot be created inside a transaction, since nobody could write to ${table} meanwhile: give the migration "readonly transaction = false"`,
    );
  }
}
