import { BatchedRepositoryOf } from 'durable-rest';
import { Watering } from './watering.entity.js';

export class WateringsRepository extends BatchedRepositoryOf(Watering, {
  orders: { day: ['day'] },
}) {}
