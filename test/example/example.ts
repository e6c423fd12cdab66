import type { Schema } from '../../src/platform/database/data-source/data-source-options.js';
import { Garden } from './gardens/garden.entity.js';
import { GardensModule } from './gardens/gardens.module.js';
import { CreateGardens1795600000001 } from './gardens/migrations/1795600000001-create-gardens.js';
import { CreatePlantings1795600000002 } from './plantings/migrations/1795600000002-create-plantings.js';
import { Planting } from './plantings/planting.entity.js';
import { PlantingsModule } from './plantings/plantings.module.js';

// Two modules from `npm run new:module`, with additions by hand. The program does not know them.

export const EXAMPLE_SCHEMA: Schema = {
  entities: [Garden, Planting],
  migrations: [CreateGardens1795600000001, CreatePlantings1795600000002],
};

export const EXAMPLE_MODULES = [GardensModule, PlantingsModule] as const;
