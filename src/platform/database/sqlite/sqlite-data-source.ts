import { resolve } from 'node:path';
import type { DataSourceOptions, EntityManager, QueryRunner } from 'typeorm';
import type { BulkTable } from '../batching/bulk-table.js';
import type { EntityColumns } from '../batching/entity-columns.js';
import { codeOf } from '../data-source/error-code.js';
import { StoreDataSource } from '../data-source/store-data-source.js';
import { flushFolders } from './flush-to-disk.js';
import { assertWritable } from './sqlite-permissions.js';
import { IN_MEMORY } from './sqlite-connection-pool.js';
import { SqliteEntityManager, StoreSqliteDriver } from './sqlite-driver.js';
import { sqliteReason } from './sqlite-errors.js';
import { SqliteLock } from './sqlite-lock.js';
import { SqliteTable } from './sqlite-table.js';
import { assertOutsideTransaction } from './fair-write-lock.js';

/** A store in a SQLite file, for one program. */
export class SqliteDataSource extends StoreDataSource {
  declare driver: StoreSqliteDriver;
  private lock: SqliteLock | undefined;

  constructor(options: DataSourceOptions) {
    super(options);
    this.driver = new StoreSqliteDriver(this);
  }

  override createEntityManager(queryRunner?: QueryRunner): EntityManager {
    return new SqliteEntityManager(this, queryRunner);
  }

  get description(): string {
    const { database } = this.driver.options;
    return database === IN_MEMORY
      ? 'a SQLite database in memory, which ends with the program'
      : `the SQLite file ${resolve(database)}`;
  }

  async reserve(): Promise<void> {
    const { database } = this.driver.options;
    if (database === IN_MEMORY) return;
    await assertWritable(database);
    this.lock = await SqliteLock.take(database);
  }

  /** Every connection flushes its commits to disk before it reports them. */
  async enableDurableCommits(): Promise<void> {
    // It is set up so from the start.
  }

  async migrate(): Promise<void> {
    const queryRunner = this.createQueryRunner();
    try {
      await this.runNewMigrations(queryRunner);
    } finally {
      await queryRunner.release();
    }
    const { database } = this.driver.options;
    if (database !== IN_MEMORY) await flushFolders(database);
    // What a killed program wrote and did not flush can be read already: from here on it is on disk.
    await this.probeWrite();
  }

  bulkTable(columns: EntityColumns): BulkTable {
    return new SqliteTable(columns, this.driver.connections);
  }

  encodeValue(value: unknown): unknown {
    if (typeof value === 'bigint') return String(value);
    return Buffer.isBuffer(value) ? value.toString('hex') : value;
  }

  assertOutsideTransaction(): void {
    assertOutsideTransaction();
  }

  /** SQLite writes the page and flushes it also when the number is what it was. */
  async probeWrite(): Promise<void> {
    const { connections } = this.driver;
    await connections.commit(() => connections.commits.exec('PRAGMA user_version = 0'));
  }

  describeError(error: unknown): string {
    const { message } = error as Error;
    return codeOf(error) === 'SQLITE_ERROR'
      ? `its tables are not those that this program makes (${message})`
      : (sqliteReason(error) ?? message);
  }

  override async destroy(): Promise<void> {
    await super.destroy();
    await this.lock?.release();
    this.lock = undefined;
  }
}
