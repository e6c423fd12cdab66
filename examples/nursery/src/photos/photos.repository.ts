import { BatchedRepositoryOf } from 'durable-rest';
import { Photo } from './photo.entity.js';

export class PhotosRepository extends BatchedRepositoryOf(Photo) {}
