import type { Env } from '../config/env.js';
import { createStoreOptions, type Schema, type StoreOptions } from 'durable-store';

type DatabaseEnv = Pick<Env, 'DATABASE_URL' | 'DATABASE_POOL_SIZE'> &
  Partial<
    Pick<Env, 'TRANSACTION_TIMEOUT_MS' | 'CHANGE_FEED' | 'STORE_TIMEOUT_MS' | 'FILE_PAGE_READERS'>
  >;

/**
 * Makes the options of the data source from the settings, for the program, its commands and
 * TypeORM's command line.
 *
 * @param logMigration gets lines for the operator about changes of the schema
 * @example
 * ```ts
 * const dataSource = createDataSource(createDataSourceOptions(loadEnv(), schema));
 * ```
 */
export function createDataSourceOptions(
  env: DatabaseEnv,
  schema: Schema,
  logMigration?: (line: string) => void,
): StoreOptions {
  const settings = {
    url: env.DATABASE_URL,
    poolSize: env.DATABASE_POOL_SIZE,
    transactionTimeoutMs: env.TRANSACTION_TIMEOUT_MS,
    changeFeed: env.CHANGE_FEED,
    waitTimeoutMs: env.STORE_TIMEOUT_MS,
    filePageReaders: env.FILE_PAGE_READERS,
  };
  return createStoreOptions(settings, schema, logMigration);
}
