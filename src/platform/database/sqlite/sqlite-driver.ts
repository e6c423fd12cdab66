import { dirname, resolve } from 'node:path';
import type { Database } from 'sqlite3';
import { type DataSource, type EntityMetadata, type ObjectLiteral, TypeORMError } from 'typeorm';
import { SqliteDriver } from 'typeorm/driver/sqlite/SqliteDriver.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { IN_MEMORY, SqliteConnectionPool } from './sqlite-connection-pool.js';
import { makeFolder } from './sqlite-permissions.js';
import { isUnsafeInteger, StoreSqliteQueryRunner } from './sqlite-query-runner.js';
import { SQLITE_TYPES } from './sqlite-schema-builder.js';

// This file and sqlite-query-runner.ts depend on the internals of TypeORM's SQLite driver.
// sqlite-driver.spec.ts fails when an upgrade changes them.

/** Types of columns that TypeORM does not know of SQLite. */
const OWN_TYPES = Object.keys(SQLITE_TYPES) as SqliteDriver['supportedDataTypes'];

const INTEGER_TYPES = new Set<unknown>(['int', 'integer', 'smallint', 'mediumint', Number]);

/**
 * TypeORM's driver with a connection for each query runner that works, where TypeORM has one for
 * all, on which the transactions of different callers run into each other.
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
    // Only a key of this type counts up.
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

  /** An int64 is a decimal string, as it is with TypeORM's other drivers, since a number may not hold it. */
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
