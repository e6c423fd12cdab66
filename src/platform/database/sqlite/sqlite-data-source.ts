import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DataSourceOptions, QueryRunner } from 'typeorm';
import { getErrorCode } from '../data-source/driver-errors.js';
import { StoreDataSource } from '../data-source/store-data-source.js';
import { SqliteChangeLog } from './sqlite-change-log.js';
import type { SqliteConnections } from './sqlite-connections.js';
import { sqliteDialect } from './sqlite-dialect.js';
import { StoreSqliteDriver } from './sqlite-driver.js';
import { sqliteErrors } from './sqlite-errors.js';
import { lockStore } from './sqlite-process-lock.js';
import type { SqliteExtra } from './sqlite-options.js';
import { SqliteSchemaSteps } from './sqlite-schema-steps.js';
import { assertWritable, flush, flushFolders } from './store-files.js';

/** A store in a SQLite file, for one program. */
export class SqliteDataSource extends StoreDataSource {
  declare driver: StoreSqliteDriver;
  readonly dialect = sqliteDialect;
  readonly errors = sqliteErrors;
  readonly changeLog = new SqliteChangeLog();
  /** Passing a statement to a thread takes as long as reading a page. */
  readonly maxPages = 8;
  /** SQLite writes and flushes the page even if the number is unchanged. */
  protected readonly probe = { name: 'probe', text: 'PRAGMA user_version = 0' };
  private unlock: (() => Promise<void>) | undefined;

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
    this.unlock = await lockStore(database);
    await this.initialize();
    const queryRunner = this.createQueryRunner();
    try {
      await this.updateSchema(queryRunner);
    } finally {
      await queryRunner.release();
    }
    // Somebody may have put a copy in the place of the store without flushing it.
    await flush(database);
    await flushFolders(database);
    // A killed program may have written data that is visible but not flushed. This flushes it.
    await this.probeWrite();
  }

  get pools(): SqliteConnections {
    return this.driver.connections;
  }

  createSchemaSteps(queryRunner: QueryRunner): SqliteSchemaSteps {
    return new SqliteSchemaSteps(queryRunner);
  }

  describeError(error: unknown): string {
    const { message } = error as Error;
    return getErrorCode(error) === 'SQLITE_ERROR'
      ? `its tables are not those that this program makes (${message})`
      : message;
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
    await this.unlock?.();
    this.unlock = undefined;
    const { temporaryFolder } = this;
    if (temporaryFolder !== undefined) await rm(temporaryFolder, { recursive: true, force: true });
  }

  private get temporaryFolder(): string | undefined {
    return (this.options.extra as SqliteExtra).temporaryFolder;
  }
}
