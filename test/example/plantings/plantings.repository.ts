import { BatchedRepositoryOf } from '../../../src/platform/database/batched-repository.js';
import { Planting } from './planting.entity.js';
import { PlantingErrors } from './plantings.errors.js';

export class PlantingsRepository extends BatchedRepositoryOf(Planting, {
  violations: { plantId: PlantingErrors.NO_SUCH_PLANT },
  orders: { plantedOn: ['plantedOn'] },
}) {}
