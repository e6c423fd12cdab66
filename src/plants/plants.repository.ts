import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { GroupCommit } from '../database/group-commit.js';
import { Plant } from './plant.entity.js';

@Injectable()
export class PlantsRepository extends GroupCommit<Plant> {
  constructor(@InjectRepository(Plant) plants: Repository<Plant>) {
    super(plants);
  }
}
