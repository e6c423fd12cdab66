import {
  createDataSourceOptions,
  openDatabase,
  type Schema,
} from '../../src/platform/database/data-source/open-database.js';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { type Engine, TestStore } from './test-store.js';

export interface EntityStore {
  readonly dataSource: StoreDataSource;
  close(): Promise<void>;
}

/** Opens a store with only the tables of these entities. */
export async function openEntityStore(
  entities: Schema['entities'],
  options: { engine?: Engine; url?: string; TRANSACTION_TIMEOUT_MS?: number } = {},
): Promise<EntityStore> {
  const { engine, url, ...env } = options;
  const store = url === undefined ? await TestStore.create(engine) : undefined;
  const dataSource = await openDatabase({
    ...createDataSourceOptions(
      { DATABASE_URL: url ?? store?.url ?? '', DATABASE_POOL_SIZE: 4, ...env },
      { entities, migrations: [] },
    ),
    // TypeORM would print the failing statements that tests expect.
    logger: 'debug',
  });
  await dataSource.synchronize();
  const close = async (): Promise<void> => {
    await dataSource.destroy();
    await store?.remove();
  };
  return { dataSource, close };
}
