import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Param,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiTag } from '../docs/api-tag.decorator.js';
import { ApiErrors } from '../errors/api-errors.decorator.js';
import { nextLink } from '../http/next-link.js';
import { type Preconditions, RequestPreconditions } from '../http/preconditions.js';
import type { JsonText } from '../json/json-text.js';
import { ListPlantsDto } from './dto/list-plants.dto.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { PlantIdDto } from './dto/plant-id.dto.js';
import { StoredPlantDto } from './dto/stored-plant.dto.js';
import { PlantErrors } from './plants.errors.js';
import { etagOf, PlantsService } from './plants.service.js';

const ETAG = {
  ETag: { description: 'Changes with what is stored', schema: { type: 'string' as const } },
};
const LINK = {
  Link: {
    description: 'The next page, with rel="next", while there is more',
    schema: { type: 'string' as const },
  },
};

@ApiTag('plants', 'The plants in the store')
@Controller('plants')
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(200)
  @ApiOperation({ operationId: 'createPlant', summary: 'Create a plant in the store' })
  @ApiOkResponse({ description: 'Plant response; the plant was created', type: PlantDto })
  @ApiErrors(PlantErrors.ID_IN_USE, PlantErrors.ALREADY_EXISTS)
  create(@Body() plant: NewPlantDto): Promise<PlantDto> {
    return this.plants.create(plant);
  }

  @Get()
  @ApiOperation({ operationId: 'listPlants', summary: 'List plants, in the order of their ids' })
  @ApiOkResponse({ description: 'A page of plants', type: [StoredPlantDto], headers: LINK })
  async list(
    @Query() query: ListPlantsDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    const { json, next } = await this.plants.list(query);
    if (next !== undefined) {
      const { limit, tag } = query;
      response.setHeader('Link', nextLink('/plants', { limit, after: next, tag }));
    }
    return json;
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readPlant', summary: 'Read a plant' })
  @ApiOkResponse({ description: 'The plant as it is stored', type: StoredPlantDto, headers: ETAG })
  @ApiResponse({
    status: HttpStatus.NOT_MODIFIED,
    description: '`If-None-Match` has the current ETag',
    content: {},
    headers: ETAG,
  })
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  async read(
    @Param() { id }: PlantIdDto,
    @RequestPreconditions() preconditions: Preconditions,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StoredPlantDto | undefined> {
    const plant = await this.plants.find(id);
    const etag = etagOf(plant);
    const isNeeded = preconditions.needRepresentation(etag);
    response.setHeader('ETag', etag);
    if (!isNeeded) {
      response.status(HttpStatus.NOT_MODIFIED);
      return undefined;
    }
    const { name, tag } = plant;
    return tag === null ? { id, name } : { id, name, tag };
  }

  @Put(':id')
  @ApiOperation({ operationId: 'replacePlant', summary: 'Replace a plant' })
  @ApiOkResponse({ description: 'Plant response; the plant was replaced', type: PlantDto })
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  replace(
    @Param() { id }: PlantIdDto,
    @Body() plant: PlantDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<PlantDto> {
    return this.plants.replace(id, plant, preconditions);
  }

  @Delete(':id')
  @HttpCode(HttpStatus.NO_CONTENT)
  @ApiOperation({ operationId: 'removePlant', summary: 'Remove a plant' })
  @ApiNoContentResponse({ description: 'The plant was removed' })
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  remove(
    @Param() { id }: PlantIdDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<void> {
    return this.plants.remove(id, preconditions);
  }
}
