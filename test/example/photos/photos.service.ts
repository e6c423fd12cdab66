import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { ApiError } from '../../../src/platform/errors/api-error.js';
import { ErrorCatalogue } from '../../../src/platform/errors/error-catalogue.js';
import type { StoredBytes } from '../../../src/platform/rest/bytes.js';
import { makeEtag, type Representation } from '../../../src/platform/rest/etag.js';
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

  /** @throws ApiError 40401, 415911, 50300 */
  async replace(plantId: bigint, data: Buffer): Promise<void> {
    const [type] =
      Object.entries(FIRST_BYTES).find(([, first]) =>
        first.equals(data.subarray(0, first.length)),
      ) ?? [];
    if (type === undefined) throw new ApiError(PhotoErrors.NOT_A_PHOTO);
    const { length } = data;
    const photo = { plantId, type, length, hash: hash('sha256', data, 'base64url'), data };
    await this.photos.change(plantId, () => photo);
  }

  /** @throws ApiError 404911, 50300 */
  async read(plantId: bigint): Promise<Representation<StoredBytes>> {
    const photo = await this.photos.find(plantId);
    if (photo === undefined) throw new ApiError(PhotoErrors.PHOTO_NOT_FOUND);
    const { type, length } = photo;
    const read = (): Promise<Buffer> => this.readData(plantId, photo.hash);
    return { body: { type, length, read }, etag: makeEtag(photo.hash) };
  }

  /** @throws ApiError 50300 when the photo has been replaced or removed meanwhile */
  private async readData(plantId: bigint, expectedHash: string): Promise<Buffer> {
    const data = await this.photos.readBytes(plantId, 'data');
    const photo = await this.photos.find(plantId);
    if (!data || photo?.hash !== expectedHash) throw new ApiError(ErrorCatalogue.UNAVAILABLE);
    return data;
  }

  /** @throws ApiError 404911, 50300 */
  async remove(plantId: bigint): Promise<void> {
    if (!(await this.photos.remove(plantId))) throw new ApiError(PhotoErrors.PHOTO_NOT_FOUND);
  }
}
