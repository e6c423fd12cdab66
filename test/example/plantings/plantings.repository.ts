import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { BatchedRepository } from '../../../src/platform/database/batched-repository.js';
import { Planting } from './planting.entity.js';
import { PlantingErrors } from './plantings.errors.js';

@Injectable()
export class PlantingsRepository extends BatchedRepository<Planting> {
  constructor(@InjectRepository(Planting) plantings: Repository<Planting>) {
    super(plantings, {
      violations: { plantId: PlantingErrors.NO_SUCH_PLANT },
      orders: { plantedOn: ['plantedOn'] },
    });
  }
}
