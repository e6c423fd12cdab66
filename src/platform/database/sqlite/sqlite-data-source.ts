import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { SqliteConnectionOptions } from 'typeorm/driver/sqlite/SqliteConnectionOptions.js';
import { StoreDataSource } from '../data-source/store-data-source.js';
import { SqliteChangeLog } from './sqlite-change-log.js';
import type { SqliteConnections } from './sqlite-connections.js';
import { sqliteDialect } from './sqlite-dialect.js';
import { sqliteErrors } from './sqlite-errors.js';
import { StoreSqliteDriver } from './sqlite-query-runner.js';
import { SqliteSchemaSteps } from './sqlite-schema-steps.js';
import { flush, flushFolders } from './store-files.js';

/** A store in a SQLite file, for one program. */
export class SqliteDataSource extends StoreDataSource {
  declare driver: StoreSqliteDriver;
  readonly dialect = sqliteDialect;
  readonly errors = sqliteErrors;
  readonly changeLog = new SqliteChangeLog();
  readonly SchemaSteps = SqliteSchemaSteps;
  /** SQLite writes and flushes the page even if the number is unchanged. */
  protected readonly probe = { name: 'probe', text: 'PRAGMA user_version = 0' };
  /** Whether the file is in a folder that is removed when the store is closed. */
  private readonly isTemporary: boolean;

  /** `:memory:` is a temporary file: each connection to memory would be another store. */
  constructor(options: SqliteConnectionOptions) {
    const isTemporary = options.database === ':memory:';
    const database = isTemporary
      ? join(mkdtempSync(join(tmpdir(), 'plant-store-')), 'plants.db')
      : options.database;
    // TypeORM would switch on the verbose mode of sqlite3, which captures a stack at every call.
    super({ ...options, database, driver: { verbose: () => undefined } });
    this.isTemporary = isTemporary;
    this.driver = new StoreSqliteDriver(this);
  }

  private get path(): string {
    return resolve(this.driver.options.database);
  }

  get description(): string {
    return this.isTemporary
      ? 'a temporary SQLite file, which is removed when the program stops'
      : `the SQLite file ${this.path}`;
  }

  async open(): Promise<void> {
    await this.initialize();
    const queryRunner = this.createQueryRunner();
    await this.updateSchema(queryRunner).finally(() => queryRunner.release());
    // Somebody may have put a copy in the place of the store without flushing it.
    await flush(this.path);
    await flushFolders(this.path);
    // A killed program may have written data that is visible but not flushed. This flushes it.
    await this.probeWrite();
  }

  get pools(): SqliteConnections {
    return this.driver.connections;
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
    if (this.isTemporary) await rm(dirname(this.path), { recursive: true, force: true });
  }
}
