import { PlantErrors } from '../../../src/modules/plants/plants.errors.js';
import { BatchedRepositoryOf } from '../../../src/platform/database/batched-repository.js';
import { Photo } from './photo.entity.js';

export class PhotosRepository extends BatchedRepositoryOf(Photo, {
  violations: { plantId: PlantErrors.PLANT_NOT_FOUND },
}) {}
