import type { Schema } from '../../src/platform/database/data-source/open-database.js';
import { CreatePhotos1795600000003 } from './photos/migrations/1795600000003-create-photos.js';
import { Photo } from './photos/photo.entity.js';
import { PhotosModule } from './photos/photos.module.js';
import { CreatePlantings1795600000002 } from './plantings/migrations/1795600000002-create-plantings.js';
import { Planting } from './plantings/planting.entity.js';
import { PlantingsModule } from './plantings/plantings.module.js';

// Modules as a team writes them, with the recipes of docs/modules.md. The program does not know
// them.

export const EXAMPLE_SCHEMA: Schema = {
  entities: [Planting, Photo],
  migrations: [CreatePlantings1795600000002, CreatePhotos1795600000003],
};

export const EXAMPLE_MODULES = [PlantingsModule, PhotosModule] as const;
