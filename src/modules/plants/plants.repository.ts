import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { BatchedRepository } from '../../platform/database/batched-repository.js';
import { Plant } from './plant.entity.js';

@Injectable()
export class PlantsRepository extends BatchedRepository<Plant> {
  constructor(@InjectRepository(Plant) plants: Repository<Plant>) {
    super(plants, { orders: { name: [{ ignoringCase: 'name' }] } });
  }
}
