import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  ApiCreated,
  ApiErrors,
  ApiNoContent,
  ApiOk,
  ApiPage,
  ApiTag,
  ConstraintErrors,
  type JsonPage,
  PageQueryDto,
  UuidDto,
} from 'durable-rest';
import { NewWateringDto, WateringDto } from './watering.dto.js';
import { Watering } from './watering.entity.js';
import { WateringErrors } from './waterings.errors.js';
import { WateringsService } from './waterings.service.js';

const { ALREADY_WATERED, NO_SUCH_PLANT, WATERING_NOT_FOUND } = WateringErrors;

/** Without PUT and PATCH. */
@ApiTag('waterings', 'When plants got water')
@ConstraintErrors(
  Watering,
  { kind: 'foreign key', properties: ['plantId'], error: NO_SUCH_PLANT },
  { constraint: 'waterings_plant_day', error: ALREADY_WATERED },
)
@Controller('waterings')
export class WateringsController {
  constructor(private readonly waterings: WateringsService) {}

  @Post()
  @ApiOperation({ operationId: 'createWatering', summary: 'Record a watering' })
  @ApiCreated(WateringDto, 'The watering was recorded')
  @ApiErrors(ALREADY_WATERED, NO_SUCH_PLANT)
  create(@Body() watering: NewWateringDto): Promise<WateringDto> {
    return this.waterings.create(watering);
  }

  @Get()
  @ApiOperation({ operationId: 'listWaterings', summary: 'List waterings' })
  @ApiPage(WateringDto, 'A page of waterings')
  list(@Query() query: PageQueryDto): Promise<JsonPage> {
    return this.waterings.list(query);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readWatering', summary: 'Read a watering' })
  @ApiOk(WateringDto, 'The watering')
  @ApiErrors(WATERING_NOT_FOUND)
  read(@Param() { id }: UuidDto): Promise<WateringDto> {
    return this.waterings.read(id);
  }

  @Delete(':id')
  @ApiOperation({ operationId: 'removeWatering', summary: 'Remove a watering' })
  @ApiNoContent('The watering was removed')
  @ApiErrors(WATERING_NOT_FOUND)
  remove(@Param() { id }: UuidDto): Promise<void> {
    return this.waterings.remove(id);
  }
}
