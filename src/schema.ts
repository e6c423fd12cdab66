import type { Schema } from './platform/database/data-source/open-database.js';
import { CreatePlants1763000000000 } from './modules/plants/migrations/1763000000000-create-plants.js';
import { IndexPlants1795800000000 } from './modules/plants/migrations/1795800000000-index-plants.js';
import { JobRun } from './platform/database/jobs.js';
import { CreateJobRuns1795400000000 } from './platform/database/migrations/1795400000000-create-job-runs.js';
import { CreateChanges1795700000000 } from './platform/database/migrations/1795700000000-create-changes.js';
import { Plant } from './modules/plants/plant.entity.js';

/** Every entity, and every migration in the order in which they run. */
export const schema: Schema = {
  entities: [Plant, JobRun],
  migrations: [
    CreatePlants1763000000000,
    CreateJobRuns1795400000000,
    CreateChanges1795700000000,
    IndexPlants1795800000000,
  ],
};
