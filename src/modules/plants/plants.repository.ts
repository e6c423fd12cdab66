import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BatchedRepository } from '../../platform/database/batched-repository.js';
import { Plant } from './plant.entity.js';

@Injectable()
export class PlantsRepository extends BatchedRepository<Plant> {
  constructor(store: DataSource) {
    super(store.getRepository(Plant), { orders: { name: [{ ignoringCase: 'name' }] } });
  }
}
