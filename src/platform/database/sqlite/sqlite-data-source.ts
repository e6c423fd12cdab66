import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DataSourceOptions, QueryRunner } from 'typeorm';
import type { EntityColumns } from '../batching/entity-columns.js';
import type { SessionPool } from '../batching/session.js';
import { TableSql } from '../batching/sql-builder.js';
import { migrateSchema } from '../data-source/migrate-schema.js';
import { getErrorCode } from '../data-source/error-code.js';
import { StoreDataSource, type TableAccess } from '../data-source/store-data-source.js';
import { flush, flushFolders } from './flush-files.js';
import { SqliteChangeLog } from './sqlite-change-log.js';
import { sqliteDialect } from './sqlite-dialect.js';
import { StoreSqliteDriver } from './sqlite-driver.js';
import { classifyFailure, describeSqliteError, toConstraintError } from './sqlite-errors.js';
import { SqliteLock } from './sqlite-process-lock.js';
import { assertWritable } from './assert-writable.js';
import type { SqliteExtra } from './sqlite-options.js';
import { SqliteSchemaSteps } from './sqlite-schema-steps.js';

/** SQLite writes and flushes the page even if the number is unchanged. */
const PROBE = { name: 'probe', text: 'PRAGMA user_version = 0' };

/** A store in a SQLite file, for one program. */
export class SqliteDataSource extends StoreDataSource {
  declare driver: StoreSqliteDriver;
  /** Passing a statement to a thread takes as long as reading a page. */
  readonly maxPages = 8;
  readonly changeLog = new SqliteChangeLog();
  private lock: SqliteLock | undefined;

  constructor(options: DataSourceOptions) {
    super(options);
    this.driver = new StoreSqliteDriver(this);
  }

  get description(): string {
    return this.temporaryFolder === undefined
      ? `the SQLite file ${resolve(this.driver.options.database)}`
      : 'a temporary SQLite file, which is removed when the program stops';
  }

  async open(): Promise<void> {
    const { database } = this.driver.options;
    await assertWritable(database);
    this.lock = await SqliteLock.take(database);
    await this.initialize();
    const queryRunner = this.createQueryRunner();
    try {
      await migrateSchema(this, queryRunner);
      await this.setUpChangeFeed(queryRunner);
    } finally {
      await queryRunner.release();
    }
    // Somebody may have put a copy in the place of the store without flushing it.
    await flush(database);
    await flushFolders(database);
    // A killed program may have written data that is visible but not flushed. This flushes it.
    await this.probeWrite();
  }

  get writers(): SessionPool {
    return this.driver.connections.writers;
  }

  get rowReaders(): SessionPool {
    return this.driver.connections.rowReaders;
  }

  get pageReaders(): SessionPool {
    return this.driver.connections.pageReaders;
  }

  accessTable(columns: EntityColumns): TableAccess {
    const sql = new TableSql(columns, sqliteDialect);
    const { metadata } = columns;
    return {
      sql,
      classifier: {
        classify: classifyFailure,
        toConstraintError: (error, isRemoval) =>
          toConstraintError(error, [metadata], { table: metadata.tableName, isRemoval }),
      },
    };
  }

  createSchemaSteps(queryRunner: QueryRunner): SqliteSchemaSteps {
    return new SqliteSchemaSteps(queryRunner);
  }

  async probeWrite(): Promise<void> {
    const writer = await this.writers.acquire();
    try {
      await writer.query(PROBE, []);
      writer.assertSameStore();
    } finally {
      await writer.release(false);
    }
  }

  describeError(error: unknown): string {
    const { message } = error as Error;
    return getErrorCode(error) === 'SQLITE_ERROR'
      ? `its tables are not those that this program makes (${message})`
      : (describeSqliteError(error) ?? message);
  }

  /** SQLite sorts every text by code point, and knows no collation `C`. */
  protected override async buildMetadatas(): Promise<void> {
    await super.buildMetadatas();
    for (const { columns } of this.entityMetadatas) {
      for (const column of columns) if (column.collation === 'C') delete column.collation;
    }
  }

  override async destroy(): Promise<void> {
    await super.destroy();
    await this.lock?.release();
    this.lock = undefined;
    const { temporaryFolder } = this;
    if (temporaryFolder !== undefined) await rm(temporaryFolder, { recursive: true, force: true });
  }

  private get temporaryFolder(): string | undefined {
    return (this.options.extra as SqliteExtra).temporaryFolder;
  }
}
