import { dirname, resolve } from 'node:path';
import type { Database } from 'sqlite3';
import { type DataSource, type EntityMetadata, type ObjectLiteral, TypeORMError } from 'typeorm';
import { SqliteDriver } from 'typeorm/driver/sqlite/SqliteDriver.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { IN_MEMORY, SqliteConnectionPool } from './sqlite-connection-pool.js';
import { makeFolder } from './assert-writable.js';
import { isUnsafeInteger, StoreSqliteQueryRunner } from './sqlite-query-runner.js';
import { SQLITE_TYPES } from './sqlite-schema-builder.js';

// This file and sqlite-query-runner.ts depend on internals of TypeORM's SQLite driver.
// sqlite-driver.spec.ts fails if an upgrade changes them.

/** The column types that TypeORM does not know for SQLite. */
const OWN_TYPES = Object.keys(SQLITE_TYPES) as SqliteDriver['supportedDataTypes'];

const INTEGER_TYPES = new Set<unknown>(['int', 'integer', 'smallint', 'mediumint', Number]);

/**
 * TypeORM's driver, but with a connection for each active query runner. TypeORM has one for all, on
 * which the transactions of different callers mix.
 */
export class StoreSqliteDriver extends SqliteDriver {
  private opened: SqliteConnectionPool | undefined;

  constructor(dataSource: DataSource) {
    super(dataSource);
    this.supportedDataTypes.push(...OWN_TYPES);
  }

  get connections(): SqliteConnectionPool {
    if (this.opened === undefined) throw new TypeORMError('The store is not open');
    return this.opened;
  }

  override normalizeType(column: Parameters<SqliteDriver['normalizeType']>[0]): string {
    const { isGenerated, generationStrategy } = column as Partial<ColumnMetadata>;
    // SQLite counts up only keys of this type.
    if (isGenerated === true && generationStrategy === 'increment') return 'integer';
    return SQLITE_TYPES[String(column.type)] ?? super.normalizeType(column);
  }

  override createQueryRunner(): StoreSqliteQueryRunner {
    return new StoreSqliteQueryRunner(this, this.connections);
  }

  protected override async createDatabaseConnection(): Promise<Database> {
    const { database, busyTimeout = 0 } = this.options;
    if (database !== IN_MEMORY) await makeFolder(dirname(resolve(database)));
    this.opened = await SqliteConnectionPool.open(database, busyTimeout);
    return this.opened.commits.database;
  }

  override async disconnect(): Promise<void> {
    await this.connections.close();
  }

  /**
   * Reads an int64 as a decimal string, like TypeORM's other drivers, since a number cannot hold
   * each.
   */
  override prepareHydratedValue(value: unknown, column: ColumnMetadata): unknown {
    if (column.type === 'bigint' && typeof value === 'number') {
      return super.prepareHydratedValue(String(value), column) as unknown;
    }
    if (
      INTEGER_TYPES.has(column.type) &&
      typeof value === 'string' &&
      isUnsafeInteger(Number(value))
    ) {
      throw new TypeORMError(
        `${column.entityMetadata.tableName}.${column.databaseName} holds ${value}, which a JavaScript number cannot: give the column the type bigint`,
      );
    }
    return super.prepareHydratedValue(value, column) as unknown;
  }

  override createGeneratedMap(
    metadata: EntityMetadata,
    insertedId: unknown,
    ...rest: [number, number]
  ): ObjectLiteral | undefined {
    if (metadata.generatedColumns.length > 0 && isUnsafeInteger(insertedId)) {
      throw new TypeORMError(
        `${metadata.tableName} has generated an id that a JavaScript number cannot hold`,
      );
    }
    return super.createGeneratedMap(metadata, insertedId, ...rest);
  }
}
