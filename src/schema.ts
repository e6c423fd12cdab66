import type { Schema } from './platform/database/data-source/data-source-options.js';
import { CreatePlants1763000000000 } from './modules/plants/migrations/1763000000000-create-plants.js';
import { IndexPlantsByTag1795219200000 } from './modules/plants/migrations/1795219200000-index-plants-by-tag.js';
import { Plant } from './modules/plants/plant.entity.js';

/** Every entity, and every migration in the order in which they run. */
export const schema: Schema = {
  entities: [Plant],
  migrations: [CreatePlants1763000000000, IndexPlantsByTag1795219200000],
};
