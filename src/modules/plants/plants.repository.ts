import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { EntityManager, Repository } from 'typeorm';
import {
  type ChangeOutcome,
  type CreateOutcome,
  type JsonPage,
  type PageQuery,
  TableRows,
} from '../../platform/database/batched-repository.js';
import { Plant } from './plant.entity.js';

/** The stored plants. What takes a manager is part of its transaction. */
@Injectable()
export class PlantsRepository {
  private readonly rows: TableRows<Plant>;

  constructor(@InjectRepository(Plant) plants: Repository<Plant>) {
    this.rows = new TableRows(plants);
  }

  create(plant: Plant, manager?: EntityManager): Promise<CreateOutcome> {
    return this.rows.create(plant, manager);
  }

  find(id: bigint): Promise<Plant | undefined> {
    return this.rows.find(id);
  }

  /** A page as JSON, which the engine writes: the tag is left out where there is none. */
  page(query: PageQuery<Plant>): Promise<JsonPage> {
    return this.rows.jsonPage(query);
  }

  /** @param expected what has to be stored, if that matters */
  replace(plant: Plant, expected?: Plant, manager?: EntityManager): Promise<ChangeOutcome> {
    return this.rows.replace(plant, expected, manager);
  }

  /** @param expected what has to be stored, if that matters */
  remove(id: bigint, expected?: Plant, manager?: EntityManager): Promise<ChangeOutcome> {
    return this.rows.remove(id, expected, manager);
  }
}
