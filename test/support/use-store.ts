import {
  createDataSourceOptions,
  openDatabase,
} from '../../src/platform/database/data-source/open-database.js';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { schema } from '../../src/schema.js';
import type { TestStore } from './test-store.js';

/** Opens a store with the schema of the program, and closes it after the work. */
export async function useStore<Result>(
  { url }: TestStore,
  work: (dataSource: StoreDataSource) => Promise<Result>,
): Promise<Result> {
  const dataSource = await openDatabase(
    createDataSourceOptions({ DATABASE_URL: url, DATABASE_POOL_SIZE: 1 }, schema),
  );
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}
