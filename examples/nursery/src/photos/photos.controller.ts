import { Controller, Delete, Get, Param, Put } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  ApiBytes,
  ApiErrors,
  ApiNoContent,
  ApiTag,
  ConstraintErrors,
  Public,
  RawBody,
  type Representation,
  type StoredBytes,
} from 'durable-rest';
import { Photo } from './photo.entity.js';
import { PhotoErrors } from './photos.errors.js';
import { VarietyIdDto } from './variety-id.dto.js';
import { PhotosService } from './photos.service.js';

const LIMIT = 5 * 1024 * 1024;

@ApiTag('photos', 'The photos of the varieties')
@ConstraintErrors(Photo, {
  kind: 'foreign key',
  properties: ['varietyId'],
  error: PhotoErrors.VARIETY_NOT_FOUND,
})
@Controller('varieties/:id/photo')
export class PhotosController {
  constructor(private readonly photos: PhotosService) {}

  @Put()
  @ApiOperation({ operationId: 'replacePhoto', summary: 'Give a variety its photo' })
  @ApiNoContent('The variety has this photo')
  @ApiErrors(PhotoErrors.VARIETY_NOT_FOUND, PhotoErrors.NOT_A_PHOTO)
  replace(
    @Param() { id }: VarietyIdDto,
    @RawBody(['image/jpeg', 'image/png'], LIMIT) photo: Buffer,
  ): Promise<void> {
    return this.photos.replace(id, photo);
  }

  @Get()
  @Public()
  @ApiOperation({ operationId: 'readPhoto', summary: 'Read the photo of a variety' })
  @ApiBytes(['image/jpeg', 'image/png'], 'The photo')
  @ApiErrors(PhotoErrors.PHOTO_NOT_FOUND)
  read(@Param() { id }: VarietyIdDto): Promise<Representation<StoredBytes>> {
    return this.photos.read(id);
  }

  @Delete()
  @ApiOperation({ operationId: 'removePhoto', summary: 'Remove the photo of a variety' })
  @ApiNoContent('The photo was removed')
  @ApiErrors(PhotoErrors.PHOTO_NOT_FOUND)
  remove(@Param() { id }: VarietyIdDto): Promise<void> {
    return this.photos.remove(id);
  }
}
