import { BatchedRepositoryOf } from 'durable-rest';
import { Sale } from './sale.entity.js';

export class SalesRepository extends BatchedRepositoryOf(Sale, {
  orders: { soldAt: ['soldAt'] },
}) {}
