import { BatchedRepositoryOf } from '../../platform/database/batched-repository.js';
import { Plant } from './plant.entity.js';

export class PlantsRepository extends BatchedRepositoryOf(Plant, {
  orders: { name: [{ ignoringCase: 'name' }] },
}) {}
