import { Controller, Delete, Get, Param, Put } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { PlantErrors } from '../../../src/modules/plants/plants.errors.js';
import { ApiErrors, ApiNoContent, ApiTag } from '../../../src/platform/rest/api.decorators.js';
import { ApiBytes, RawBody, type StoredBytes } from '../../../src/platform/rest/bytes.js';
import type { Representation } from '../../../src/platform/rest/etag.js';
import { IdDto } from '../../../src/platform/rest/id.dto.js';
import { PhotoErrors } from './photos.errors.js';
import { PhotosService } from './photos.service.js';

const LIMIT = 5 * 1024 * 1024;

@ApiTag('photos', 'The photos of the plants')
@Controller('plants/:id/photo')
export class PhotosController {
  constructor(private readonly photos: PhotosService) {}

  @Put()
  @ApiOperation({ operationId: 'replacePhoto', summary: 'Give a plant its photo' })
  @ApiNoContent('The plant has this photo')
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND, PhotoErrors.NOT_A_PHOTO)
  replace(
    @Param() { id }: IdDto,
    @RawBody(['image/jpeg', 'image/png'], LIMIT) photo: Buffer,
  ): Promise<void> {
    return this.photos.replace(id, photo);
  }

  @Get()
  @ApiOperation({ operationId: 'readPhoto', summary: 'Read the photo of a plant' })
  @ApiBytes(['image/jpeg', 'image/png'], 'The photo')
  @ApiErrors(PhotoErrors.PHOTO_NOT_FOUND)
  read(@Param() { id }: IdDto): Promise<Representation<StoredBytes>> {
    return this.photos.read(id);
  }

  @Delete()
  @ApiOperation({ operationId: 'removePhoto', summary: 'Remove the photo of a plant' })
  @ApiNoContent('The photo was removed')
  @ApiErrors(PhotoErrors.PHOTO_NOT_FOUND)
  remove(@Param() { id }: IdDto): Promise<void> {
    return this.photos.remove(id);
  }
}
