import { platformSchema, type Schema } from 'durable-rest/program';
import { CreatePhotos1796000000003 } from './photos/migrations/1796000000003-create-photos.js';
import { Photo } from './photos/photo.entity.js';
import { CreatePlantings1796000000002 } from './plantings/migrations/1796000000002-create-plantings.js';
import { Planting } from './plantings/planting.entity.js';
import { CreateSales1796000000004 } from './sales/migrations/1796000000004-create-sales.js';
import { Sale } from './sales/sale.entity.js';
import { service } from './service.js';
import { CreateVarieties1796000000001 } from './varieties/migrations/1796000000001-create-varieties.js';
import { Variety } from './varieties/variety.entity.js';

/** Every entity and every migration. TypeORM executes migrations by the numbers in their names. */
export const schema: Schema = {
  applicationName: service.name,
  entities: [Variety, Planting, Photo, Sale, ...platformSchema.entities],
  migrations: [
    ...platformSchema.migrations,
    CreateVarieties1796000000001,
    CreatePlantings1796000000002,
    CreatePhotos1796000000003,
    CreateSales1796000000004,
  ],
};
