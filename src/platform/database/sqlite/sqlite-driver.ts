import { type DataSource, TypeORMError } from 'typeorm';
import { SqliteDriver } from 'typeorm/driver/sqlite/SqliteDriver.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { SqliteConnections } from './sqlite-connections.js';
import { StoreSqliteQueryRunner } from './sqlite-query-runner.js';
import { SQLITE_TYPES } from './sqlite-schema-steps.js';

// This file and sqlite-query-runner.ts depend on internals of TypeORM's SQLite driver. The tests in
// test/sqlite and test/modules fail if an upgrade changes them.

/** The column types that TypeORM does not know for SQLite. */
const OWN_TYPES = Object.keys(SQLITE_TYPES) as SqliteDriver['supportedDataTypes'];

/**
 * TypeORM's driver, but with a connection for each active query runner. TypeORM has one for all, on
 * which the transactions of different callers mix.
 */
export class StoreSqliteDriver extends SqliteDriver {
  private opened: SqliteConnections | undefined;

  constructor(dataSource: DataSource) {
    super(dataSource);
    this.supportedDataTypes.push(...OWN_TYPES);
  }

  get connections(): SqliteConnections {
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

  override async connect(): Promise<void> {
    this.opened = await SqliteConnections.open(this.options.database);
  }

  override async disconnect(): Promise<void> {
    await this.connections.close();
  }

  /** Reads an int64 as a decimal string, like TypeORM's other drivers. */
  override prepareHydratedValue(value: unknown, column: ColumnMetadata): unknown {
    const isInt64 = column.type === 'bigint' && typeof value === 'number';
    return super.prepareHydratedValue(isInt64 ? String(value) : value, column) as unknown;
  }
}
