import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { SqliteConnectionOptions } from 'typeorm/driver/sqlite/SqliteConnectionOptions.js';
import type { QueryRunner } from 'typeorm';
import { StoreDataSource } from '../engine/store-data-source.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import { SqliteChangeLog } from './sqlite-change-log.js';
import type { SqliteConnections } from './sqlite-connections.js';
import { sqliteDialect } from './sqlite-dialect.js';
import { sqliteErrors } from './sqlite-errors.js';
import { SqliteMigrations } from './sqlite-migrations.js';
import { StoreSqliteDriver } from './sqlite-query-runner.js';
import { SQLITE_TYPES, SqliteSchemaSteps } from './sqlite-schema-steps.js';
import { flushFolders } from './store-files.js';

/** A store in a SQLite file, for one program. */
export class SqliteDataSource extends StoreDataSource {
  declare driver: StoreSqliteDriver;
  readonly dialect = sqliteDialect;
  readonly errors = sqliteErrors;
  readonly changeLog = new SqliteChangeLog();
  readonly migrationRules = new SqliteMigrations(this.changeLog);
  readonly SchemaSteps = SqliteSchemaSteps;
  /** SQLite writes and flushes the page even if the number is unchanged. */
  readonly probe = { name: 'probe', text: 'PRAGMA user_version = 0' };
  /** Whether the file is in a folder that is removed when the store is closed. */
  private readonly isTemporary: boolean;

  /** `:memory:` is a temporary file: each connection to memory would be another store. */
  constructor(options: SqliteConnectionOptions) {
    const isTemporary = options.database === ':memory:';
    const database = isTemporary ? join(makeTemporaryFolder(), 'store.db') : options.database;
    // TypeORM would switch on the verbose mode of sqlite3, which captures a stack at every call.
    super({ ...options, database, driver: { verbose: () => undefined } });
    this.isTemporary = isTemporary;
    this.driver = new StoreSqliteDriver(this);
  }

  get path(): string {
    return resolve(this.driver.options.database);
  }

  get location(): string {
    return this.isTemporary ? ':memory:' : this.driver.options.database;
  }

  get description(): string {
    return this.isTemporary
      ? 'a temporary SQLite file, which is removed when the program stops'
      : `the SQLite file ${this.path}`;
  }

  get pools(): SqliteConnections {
    return this.driver.connections;
  }

  async open(): Promise<void> {
    await this.initialize();
    await this.withMigrations(async (executor, queryRunner) => {
      await assertUtf8(queryRunner);
      await this.updateSchema(executor, queryRunner);
    });
    await flushFolders(this.path);
    // A killed program may have left a log that is visible but not flushed. This flushes it.
    await this.probeWrite();
  }

  /** Leaves out of the columns what SQLite does not have, and so does not find in its tables. */
  protected override async buildMetadatas(): Promise<void> {
    await super.buildMetadatas();
    for (const column of this.entityMetadatas.flatMap(({ columns }) => columns)) {
      // SQLite sorts every text by code point, and knows no collation `C`.
      if (column.collation === 'C') delete column.collation;
      if (String(column.type) in SQLITE_TYPES) delete column.precision;
      if (column.type === 'bigint') compareAsText(column);
    }
  }

  override async destroy(): Promise<void> {
    await super.destroy();
    if (this.isTemporary) await rm(dirname(this.path), { recursive: true, force: true });
  }
}

/** @throws DatabaseStartError */
function makeTemporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'store-'));
  } catch (cause) {
    const { message } = cause as Error;
    throw new DatabaseStartError(
      `A store in memory needs a temporary folder, and TMPDIR does not name one that can be written: ${message}`,
      { cause },
    );
  }
}

/** In UTF-16, SQLite would not sort texts by code point. */
async function assertUtf8(queryRunner: QueryRunner): Promise<void> {
  const [store] = (await queryRunner.query('PRAGMA encoding')) as { encoding: string }[];
  if (store?.encoding === 'UTF-8') return;
  throw new DatabaseStartError(
    `The store is in ${store?.encoding}, and must be in UTF-8: dump it with .dump of sqlite3, and read the dump into a new file`,
  );
}

/**
 * TypeORM compares the int64 of an entity, a string, with the int64 of a raw row, a number, to join
 * relations that it has loaded by separate queries.
 */
function compareAsText(column: ColumnMetadata): void {
  const compare: ColumnMetadata['compareEntityValue'] = column.compareEntityValue.bind(column);
  column.compareEntityValue = (entity, value: unknown): boolean =>
    compare(entity, typeof value === 'number' ? String(value) : value) === true;
}
