import type { DataSourceOptions, MigrationInterface } from 'typeorm';
import { parseDatabaseUrl } from '../../config/database-url.js';
import type { Env } from '../../config/env.js';
import { PostgresDataSource } from '../postgres/postgres-data-source.js';
import { createPostgresOptions } from '../postgres/postgres-options.js';
import { SqliteDataSource } from '../sqlite/sqlite-data-source.js';
import { createSqliteOptions } from '../sqlite/sqlite-options.js';
import { DatabaseStartError, type StoreDataSource, type StoreExtra } from './store-data-source.js';

type Class<Instance = object> = new () => Instance;

/** The entities and migrations of the store. */
export interface Schema {
  readonly entities: Class[];
  /** In the order in which they run. */
  readonly migrations: Class<MigrationInterface>[];
}

type DatabaseEnv = Pick<Env, 'DATABASE_URL' | 'DATABASE_POOL_SIZE'> &
  Partial<Pick<Env, 'TRANSACTION_TIMEOUT_MS' | 'CHANGE_FEED'>>;

/**
 * Makes the options of the data source, for the program, its commands and TypeORM's command line.
 *
 * @param logMigration gets lines for the operator about changes of the schema
 */
export function createDataSourceOptions(
  { DATABASE_URL, DATABASE_POOL_SIZE, TRANSACTION_TIMEOUT_MS, CHANGE_FEED }: DatabaseEnv,
  schema: Schema,
  logMigration?: StoreExtra['logMigration'],
): DataSourceOptions {
  const url = parseDatabaseUrl(DATABASE_URL);
  if (url === undefined) throw new TypeError('not a database URL');
  const extra: StoreExtra = {
    transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
    changeFeed: CHANGE_FEED,
    logMigration,
  };
  const options =
    url.type === 'sqlite'
      ? createSqliteOptions(url)
      : createPostgresOptions(url, DATABASE_POOL_SIZE, TRANSACTION_TIMEOUT_MS);
  return {
    ...options,
    extra: { ...(options.extra as object | undefined), ...extra },
    ...schema,
    migrationsTransactionMode: 'each',
  };
}

export function createDataSource(options: DataSourceOptions): StoreDataSource {
  return options.type === 'postgres'
    ? new PostgresDataSource(options)
    : new SqliteDataSource(options);
}

/**
 * Opens the store, and brings its schema up to date.
 *
 * @throws DatabaseStartError
 */
export async function openDatabase(options: DataSourceOptions): Promise<StoreDataSource> {
  const dataSource = createDataSource(options);
  try {
    await dataSource.open();
    return dataSource;
  } catch (error) {
    await dataSource.destroy();
    if (error instanceof DatabaseStartError) throw error;
    throw new DatabaseStartError(
      `The store cannot be used, ${dataSource.description}: ${dataSource.describeError(error)}`,
      { cause: error },
    );
  }
}
