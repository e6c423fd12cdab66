import type { Schema } from '../../src/platform/database/data-source/open-database.js';
import { CreatePlantings1795600000002 } from './plantings/migrations/1795600000002-create-plantings.js';
import { Planting } from './plantings/planting.entity.js';
import { PlantingsModule } from './plantings/plantings.module.js';

// A module as a team writes it, with the recipes of docs/module-recipes.md. The program does not
// know it.

export const EXAMPLE_SCHEMA: Schema = {
  entities: [Planting],
  migrations: [CreatePlantings1795600000002],
};

export const EXAMPLE_MODULES = [PlantingsModule] as const;
