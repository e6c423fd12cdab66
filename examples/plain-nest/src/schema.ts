import { platformSchema, type Schema } from 'durable-store';
import { Bed } from './beds/bed.entity.js';
import { CreateBeds1800000000000 } from './beds/create-beds.migration.js';

/** The tables of the application, and those of the store itself. */
export const schema: Schema = {
  applicationName: 'plain-nest',
  entities: [Bed, ...platformSchema.entities],
  migrations: [...platformSchema.migrations, CreateBeds1800000000000],
};
