import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { EntityManager, Repository } from 'typeorm';
import type { CreateOutcome } from '../database/row-writer.js';
import { TableRows } from '../database/table-rows.js';
import { Plant } from './plant.entity.js';

@Injectable()
export class PlantsRepository {
  private readonly rows: TableRows<Plant>;

  constructor(@InjectRepository(Plant) plants: Repository<Plant>) {
    this.rows = new TableRows(plants);
  }

  /** @param manager of a transaction that it shall be part of */
  create(plant: Plant, manager?: EntityManager): Promise<CreateOutcome> {
    return this.rows.create(plant, manager);
  }
}
