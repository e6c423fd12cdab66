import type { DataSourceOptions, MigrationInterface } from 'typeorm';
import { parseDatabaseUrl } from '../config/database-url.js';
import type { Env } from '../config/env.js';
import { postgresOptions } from './postgres/postgres-options.js';
import { sqliteOptions } from './sqlite/sqlite-options.js';

type Class<Instance = object> = new () => Instance;

/** What the store holds. */
export interface Schema {
  readonly entities: Class[];
  /** In the order in which they run. */
  readonly migrations: Class<MigrationInterface>[];
}

/** The options of the data source: the program, the commands and TypeORM's own share them. */
export function dataSourceOptions(
  { DATABASE_URL, DATABASE_POOL_SIZE }: Pick<Env, 'DATABASE_URL' | 'DATABASE_POOL_SIZE'>,
  schema: Schema,
): DataSourceOptions {
  const url = parseDatabaseUrl(DATABASE_URL);
  if (url === undefined) throw new TypeError('not a database URL');
  return {
    ...(url.type === 'sqlite' ? sqliteOptions(url) : postgresOptions(url, DATABASE_POOL_SIZE)),
    ...schema,
    migrationsTransactionMode: 'each',
  };
}
