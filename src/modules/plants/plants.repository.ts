import { BatchedRepositoryOf } from 'durable-rest';
import { Plant } from './plant.entity.js';

export class PlantsRepository extends BatchedRepositoryOf(Plant, {
  orders: { name: [{ ignoringCase: 'name' }] },
}) {}
