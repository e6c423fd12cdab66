import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { PlantErrors } from '../../../src/modules/plants/plants.errors.js';
import { BatchedRepository } from '../../../src/platform/database/batched-repository.js';
import { Photo } from './photo.entity.js';

@Injectable()
export class PhotosRepository extends BatchedRepository<Photo> {
  constructor(@InjectRepository(Photo) photos: Repository<Photo>) {
    super(photos, { violations: { plantId: PlantErrors.PLANT_NOT_FOUND } });
  }
}
