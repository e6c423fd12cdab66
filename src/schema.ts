import type { Schema } from './platform/database/data-source/open-database.js';
import { CreatePlants1763000000000 } from './modules/plants/migrations/1763000000000-create-plants.js';
import { IndexPlantsByTag1795219200000 } from './modules/plants/migrations/1795219200000-index-plants-by-tag.js';
import { IndexPlantsByName1795500000000 } from './modules/plants/migrations/1795500000000-index-plants-by-name.js';
import { IndexPlantsByTagStart1795800000000 } from './modules/plants/migrations/1795800000000-index-plants-by-tag-start.js';
import { JobRun } from './platform/database/jobs.js';
import { CreateJobRuns1795400000000 } from './platform/database/migrations/1795400000000-create-job-runs.js';
import {
  CreateChanges1795600000000,
  RecreateChanges1795700000000,
} from './platform/database/migrations/1795700000000-create-changes.js';
import { Plant } from './modules/plants/plant.entity.js';

/** Every entity, and every migration in the order in which they run. */
export const schema: Schema = {
  entities: [Plant, JobRun],
  migrations: [
    CreatePlants1763000000000,
    IndexPlantsByTag1795219200000,
    CreateJobRuns1795400000000,
    IndexPlantsByName1795500000000,
    CreateChanges1795600000000,
    RecreateChanges1795700000000,
    IndexPlantsByTagStart1795800000000,
  ],
};
