import type { DataSourceOptions } from 'typeorm';
import { PostgresDataSource } from '../postgres/postgres-data-source.js';
import { SqliteDataSource } from '../sqlite/sqlite-data-source.js';
import { DatabaseStartError, type StoreDataSource } from './store-data-source.js';

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
