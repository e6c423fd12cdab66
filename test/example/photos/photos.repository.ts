import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { PlantErrors } from '../../../src/modules/plants/plants.errors.js';
import { BatchedRepository } from '../../../src/platform/database/batched-repository.js';
import { Photo } from './photo.entity.js';

@Injectable()
export class PhotosRepository extends BatchedRepository<Photo> {
  constructor(store: DataSource) {
    super(store.getRepository(Photo), { violations: { plantId: PlantErrors.PLANT_NOT_FOUND } });
  }
}
