import { BatchedRepositoryOf } from 'durable-rest';
import { Planting } from './planting.entity.js';

export class PlantingsRepository extends BatchedRepositoryOf(Planting, {
  orders: { plantedOn: ['plantedOn'] },
}) {}
