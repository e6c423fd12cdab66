import { platformSchema, type Schema } from 'durable-rest/program';
import { CreatePlants1763000000000 } from './modules/plants/migrations/1763000000000-create-plants.js';
import { IndexPlantsByName1795500000000 } from './modules/plants/migrations/1795500000000-index-plants-by-name.js';
import { IndexPlantsByTagStart1795800000000 } from './modules/plants/migrations/1795800000000-index-plants-by-tag-start.js';
import { Plant } from './modules/plants/plant.entity.js';
import { service } from './service.js';

/** Every entity and every migration. TypeORM executes migrations by the numbers in their names. */
export const schema: Schema = {
  applicationName: service.name,
  entities: [Plant, ...platformSchema.entities],
  migrations: [
    CreatePlants1763000000000,
    ...platformSchema.migrations,
    IndexPlantsByName1795500000000,
    IndexPlantsByTagStart1795800000000,
  ],
  retired: [...platformSchema.retired, 'IndexPlantsByTag1795219200000'],
};
