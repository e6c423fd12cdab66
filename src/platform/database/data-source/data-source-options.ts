import type { DataSourceOptions, MigrationInterface } from 'typeorm';
import { parseDatabaseUrl } from '../../config/database-url.js';
import type { Env } from '../../config/env.js';
import { createPostgresOptions } from '../postgres/postgres-options.js';
import { createSqliteOptions } from '../sqlite/sqlite-options.js';
import type { StoreExtra } from './store-data-source.js';

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
      : createPostgresOptions(url, DATABASE_POOL_SIZE);
  return {
    ...options,
    extra: { ...(options.extra as object | undefined), ...extra },
    ...schema,
    migrationsTransactionMode: 'each',
  };
}
