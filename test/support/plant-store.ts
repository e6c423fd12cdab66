import { beforeEach } from '@jest/globals';
import type { Repository } from 'typeorm';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { BatchedRepository } from '../../src/platform/database/batched-repository.js';
import { type EntityStore, useEntityStore } from './store.js';

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
export function usePlantStore(env: { TRANSACTION_TIMEOUT_MS?: number } = {}): PlantStore {
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
