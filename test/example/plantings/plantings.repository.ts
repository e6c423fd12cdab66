import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { BatchedRepository } from '../../../src/platform/database/batched-repository.js';
import { Planting } from './planting.entity.js';
import { PlantingErrors } from './plantings.errors.js';

@Injectable()
export class PlantingsRepository extends BatchedRepository<Planting> {
  constructor(store: DataSource) {
    super(store.getRepository(Planting), {
      violations: { plantId: PlantingErrors.NO_SUCH_PLANT },
      orders: { plantedOn: ['plantedOn'] },
    });
  }
}
