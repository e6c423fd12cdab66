import { afterAll, afterEach, beforeEach, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { Repository } from 'typeorm';
import { Plant } from '../fixtures/plant.entity.js';
import { BatchedRepository } from 'durable-rest';
import { createDataSourceOptions, type Schema } from 'durable-rest/program';
import { openDatabase } from '../../packages/store/src/open/open-database.js';
import type { StoreDataSource } from '../../packages/store/src/engine/store-data-source.js';
import { SqliteConnection } from '../../packages/store/src/sqlite/sqlite-connection.js';
import { schema } from '../fixtures/schema.js';
import { TestStore } from 'durable-rest/testing';

/** Settings of a store that tests choose. */
type StoreEnv = Partial<Record<'TRANSACTION_TIMEOUT_MS' | 'STORE_TIMEOUT_MS', number>>;

/** Opens a store with these tables as a program does, but quietly. */
export async function openStore(
  DATABASE_URL: string,
  tables: Schema = schema,
  log?: (line: string) => void,
  env: StoreEnv = {},
): Promise<StoreDataSource> {
  const all = { DATABASE_URL, DATABASE_POOL_SIZE: 1, ...env };
  const options = createDataSourceOptions(all, tables, log);
  return await openDatabase({ ...options, logger: 'debug' });
}

/** Opens a store with these tables, and closes it after the work. */
export async function useStore<Result>(
  { url }: TestStore,
  work: (dataSource: StoreDataSource) => Promise<Result>,
  tables: Schema = schema,
): Promise<Result> {
  const dataSource = await openStore(url, tables);
  return await work(dataSource).finally(() => dataSource.destroy());
}

export interface EntityStore {
  /** The value for DATABASE_URL. */
  readonly url: string;
  readonly dataSource: StoreDataSource;
  close(): Promise<void>;
}

/** Opens a store with only the tables of these entities: the one at this URL, or a new one. */
export async function openEntityStore(
  entities: Schema['entities'],
  { url, ...env }: StoreEnv & { url?: string } = {},
): Promise<EntityStore> {
  const store = url === undefined ? await TestStore.create() : { url, remove: () => undefined };
  const dataSource = await openDatabase({
    ...createDataSourceOptions(
      { DATABASE_URL: store.url, DATABASE_POOL_SIZE: 4, ...env },
      { entities, migrations: [] },
    ),
    // TypeORM would print the failing statements that tests expect.
    logger: 'debug',
  });
  await dataSource.synchronize();
  const close = async (): Promise<void> => {
    await dataSource.destroy();
    await store.remove();
  };
  return { url: store.url, dataSource, close };
}

/** Opens a new store with only these tables for each test of a file. */
export function useEntityStore(
  entities: Schema['entities'],
  env: StoreEnv = {},
): Omit<EntityStore, 'close'> {
  const opened = {} as EntityStore;
  beforeEach(async () => {
    Logger.overrideLogger(false);
    Object.assign(opened, await openEntityStore(entities, env));
  });
  afterEach(() => opened.close());
  return opened;
}

export function plant(id: number, name = `plant ${id}`): Plant {
  return { id: String(id), name, tag: null };
}

interface PlantStore extends Omit<EntityStore, 'close'> {
  /** The plants as TypeORM writes them. */
  readonly plants: Repository<Plant>;
  /** The plants in batches. */
  readonly rows: BatchedRepository<Plant>;
}

/** Opens a new store of plants for each test of a file. */
export function usePlantStore(env: StoreEnv = {}): PlantStore {
  const store = useEntityStore([Plant], env);
  beforeEach(() => {
    const plants = store.dataSource.getRepository(Plant);
    Object.assign(store, { plants, rows: new BatchedRepository(plants) });
  });
  return store as PlantStore;
}

export async function listStoredIds({ plants }: PlantStore): Promise<number[]> {
  const found = await plants.find({ order: { id: 'ASC' } });
  return found.map(({ id }) => Number(id));
}

/** Adds the tables of a feature to those of the fixtures until the test file ends. */
export function addToSchema({ entities, migrations }: Schema): void {
  const own = { ...schema };
  Object.assign(schema, {
    entities: [...schema.entities, ...entities],
    migrations: [...schema.migrations, ...migrations],
  });
  afterAll(() => void Object.assign(schema, own));
}

/**
 * From now on, connections that are opened wait only a moment for a lock of another process.
 * `jest.restoreAllMocks()` ends it.
 */
export function shortenLockWaits(): void {
  const open = SqliteConnection.open.bind(SqliteConnection);
  jest.spyOn(SqliteConnection, 'open').mockImplementation((path, setUp = '', access) => {
    return open(path, setUp.replace(/busy_timeout = \d+/, 'busy_timeout = 20'), access);
  });
}

/** Runs a statement on a SQLite file, as another program may do. */
export async function querySqlite(
  path: string,
  sql: string,
  parameters: readonly unknown[] = [],
): Promise<unknown> {
  const connection = await SqliteConnection.open(path);
  return await connection.all(sql, parameters).finally(() => connection.close());
}
