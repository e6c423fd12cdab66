import { Body, Controller, Delete, Get, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import {
  ApiErrors,
  ApiNoContent,
  ApiOk,
  ApiPage,
  ApiRepresentation,
  ApiStream,
  ApiTag,
  ConstraintErrors,
  type JsonPage,
  type Preconditions,
  type Representation,
  RequestPreconditions,
} from 'durable-rest';
import { LabelDto, ListLabelsDto } from './dto/label.dto.js';
import { ListPlantingsDto } from './dto/list-plantings.dto.js';
import { MoveDto } from './dto/move.dto.js';
import { NewPlantingDto } from './dto/new-planting.dto.js';
import { PlantingKeyDto } from './dto/planting-key.dto.js';
import { PlantingPatchDto } from './dto/planting-patch.dto.js';
import { PlantingDto } from './dto/planting.dto.js';
import { Planting } from './planting.entity.js';
import { PlantingErrors } from './plantings.errors.js';
import { PlantingsService } from './plantings.service.js';

@ApiTag('plantings', 'The plantings in the store')
@ConstraintErrors(Planting, {
  kind: 'foreign key',
  properties: ['varietyId'],
  error: PlantingErrors.NO_SUCH_VARIETY,
})
@Controller('plantings')
export class PlantingsController {
  constructor(private readonly plantings: PlantingsService) {}

  @Post()
  @ApiOperation({ operationId: 'createPlanting', summary: 'Create a planting' })
  @ApiOk(PlantingDto, 'The planting was created')
  @ApiErrors(
    PlantingErrors.KEY_IN_USE,
    PlantingErrors.ALREADY_EXISTS,
    PlantingErrors.NO_SUCH_VARIETY,
  )
  create(@Body() planting: NewPlantingDto): Promise<PlantingDto> {
    return this.plantings.create(planting);
  }

  @Get()
  @ApiOperation({
    operationId: 'listPlantings',
    summary: 'List plantings, in the order of their keys',
  })
  @ApiPage(NewPlantingDto, 'A page of plantings')
  list(@Query() query: ListPlantingsDto): Promise<JsonPage> {
    return this.plantings.list(query);
  }

  @Get('labels')
  @ApiOperation({
    operationId: 'listPlantingLabels',
    summary: 'List the plantings of a garden with the names of their varieties',
  })
  @ApiOkResponse({ description: 'The labels, in the order of their varieties', type: [LabelDto] })
  listLabels(@Query() query: ListLabelsDto): Promise<LabelDto[]> {
    return this.plantings.listLabels(query);
  }

  @Get('export')
  @ApiOperation({ operationId: 'exportPlantings', summary: 'Export all plantings' })
  @ApiStream('text/csv; charset=utf-8', 'A line for each planting, in the order of their keys')
  export(): AsyncIterable<string> {
    return this.plantings.export();
  }

  @Post('moves')
  @ApiOperation({ operationId: 'movePlanting', summary: 'Move plants from one garden to another' })
  @ApiNoContent('They were moved')
  @ApiErrors(
    PlantingErrors.PLANTING_NOT_FOUND,
    PlantingErrors.NO_SUCH_VARIETY,
    PlantingErrors.QUANTITY_OUT_OF_RANGE,
  )
  move(@Body() move: MoveDto): Promise<void> {
    return this.plantings.move(move);
  }

  @Get(':gardenId/:varietyId')
  @ApiOperation({ operationId: 'readPlanting', summary: 'Read a planting' })
  @ApiRepresentation(NewPlantingDto, 'The planting as it is stored')
  @ApiErrors(PlantingErrors.PLANTING_NOT_FOUND)
  read(@Param() key: PlantingKeyDto): Promise<Representation<NewPlantingDto>> {
    return this.plantings.read(key);
  }

  @Put(':gardenId/:varietyId')
  @ApiOperation({ operationId: 'replacePlanting', summary: 'Replace a planting' })
  @ApiOk(PlantingDto, 'The planting was replaced')
  @ApiErrors(PlantingErrors.PLANTING_NOT_FOUND, PlantingErrors.NO_SUCH_VARIETY)
  replace(
    @Param() key: PlantingKeyDto,
    @Body() planting: PlantingDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<PlantingDto> {
    return this.plantings.replace(key, planting, preconditions);
  }

  @Patch(':gardenId/:varietyId')
  @ApiOperation({ operationId: 'patchPlanting', summary: 'Change some members of a planting' })
  @ApiOk(PlantingDto, 'The planting as it is now')
  @ApiErrors(PlantingErrors.PLANTING_NOT_FOUND, PlantingErrors.NO_SUCH_VARIETY)
  update(
    @Param() key: PlantingKeyDto,
    @Body() patch: PlantingPatchDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<PlantingDto> {
    return this.plantings.update(key, patch, preconditions);
  }

  @Delete(':gardenId/:varietyId')
  @ApiOperation({ operationId: 'removePlanting', summary: 'Remove a planting' })
  @ApiNoContent('The planting was removed')
  @ApiErrors(PlantingErrors.PLANTING_NOT_FOUND)
  remove(
    @Param() key: PlantingKeyDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<void> {
    return this.plantings.remove(key, preconditions);
  }
}
