import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { BatchedRepository } from '../../../src/platform/database/batched-repository.js';
import { Garden } from './garden.entity.js';
import { GardenErrors } from './gardens.errors.js';

@Injectable()
export class GardensRepository extends BatchedRepository<Garden> {
  constructor(@InjectRepository(Garden) gardens: Repository<Garden>) {
    super(gardens, {
      violations: { name: GardenErrors.NAME_IN_USE },
      referenced: GardenErrors.GARDEN_IN_USE,
      orders: { area: ['area'] },
    });
  }
}
