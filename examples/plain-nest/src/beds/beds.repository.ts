import { BatchedRepositoryOf } from 'durable-store';
import { Bed } from './bed.entity.js';

export class BedsRepository extends BatchedRepositoryOf(Bed, { orders: { name: ['name'] } }) {}
