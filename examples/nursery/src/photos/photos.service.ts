import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import {
  ApiError,
  ErrorCatalogue,
  makeEtag,
  type Representation,
  type StoredBytes,
} from 'durable-rest';
import { PhotoErrors } from './photos.errors.js';
import { PhotosRepository } from './photos.repository.js';

/** The first bytes of a file of each media type. */
const FIRST_BYTES = {
  'image/jpeg': Buffer.from('ffd8ff', 'hex'),
  'image/png': Buffer.from('89504e470d0a1a0a', 'hex'),
};

@Injectable()
export class PhotosService {
  constructor(private readonly photos: PhotosRepository) {}

  /** @throws ApiError 404912, 415911, 50300 */
  async replace(varietyId: number, data: Buffer): Promise<void> {
    const [type] =
      Object.entries(FIRST_BYTES).find(([, first]) =>
        first.equals(data.subarray(0, first.length)),
      ) ?? [];
    if (type === undefined) throw new ApiError(PhotoErrors.NOT_A_PHOTO);
    const { length } = data;
    const photo = { varietyId, type, length, hash: hash('sha256', data, 'base64url'), data };
    await this.photos.change(varietyId, () => photo);
  }

  /** @throws ApiError 404911, 50300 */
  async read(varietyId: number): Promise<Representation<StoredBytes>> {
    const photo = await this.photos.find(varietyId);
    if (photo === undefined) throw new ApiError(PhotoErrors.PHOTO_NOT_FOUND);
    const { type, length } = photo;
    const read = (): Promise<Buffer> => this.readData(varietyId, photo.hash);
    return { body: { type, length, read }, etag: makeEtag(photo.hash) };
  }

  /** @throws ApiError 50300 when the photo has been replaced or removed meanwhile */
  private async readData(varietyId: number, expectedHash: string): Promise<Buffer> {
    const data = await this.photos.readBytes(varietyId, 'data');
    const photo = await this.photos.find(varietyId);
    if (!data || photo?.hash !== expectedHash) throw new ApiError(ErrorCatalogue.UNAVAILABLE);
    return data;
  }

  /** @throws ApiError 404911, 50300 */
  async remove(varietyId: number): Promise<void> {
    if (!(await this.photos.remove(varietyId))) throw new ApiError(PhotoErrors.PHOTO_NOT_FOUND);
  }
}
