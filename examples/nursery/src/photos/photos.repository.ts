import { BatchedRepositoryOf } from 'durable-rest';
import { Photo } from './photo.entity.js';
import { PhotoErrors } from './photos.errors.js';

export class PhotosRepository extends BatchedRepositoryOf(Photo, {
  violations: { varietyId: PhotoErrors.VARIETY_NOT_FOUND },
}) {}
