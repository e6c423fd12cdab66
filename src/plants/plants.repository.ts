import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { type CreateOutcome, GroupCommit } from '../database/group-commit.js';
import { Plant } from './plant.entity.js';

@Injectable()
export class PlantsRepository {
  private readonly commits: GroupCommit<Plant>;

  constructor(@InjectRepository(Plant) plants: Repository<Plant>) {
    this.commits = new GroupCommit(plants);
  }

  /** @throws ApiError 50300 */
  create(plant: Plant): Promise<CreateOutcome> {
    return this.commits.create(plant);
  }
}
