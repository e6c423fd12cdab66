import { BatchedRepositoryOf } from 'durable-rest';
import { Planting } from './planting.entity.js';
import { PlantingErrors } from './plantings.errors.js';

export class PlantingsRepository extends BatchedRepositoryOf(Planting, {
  violations: { varietyId: PlantingErrors.NO_SUCH_VARIETY },
  orders: { plantedOn: ['plantedOn'] },
}) {}
