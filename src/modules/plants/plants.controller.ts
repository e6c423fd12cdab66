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
import { ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiTag } from '../../platform/rest/api-section.decorator.js';
import { ApiErrors } from '../../platform/errors/api-errors.decorator.js';
import { IdDto } from '../../platform/rest/id.dto.js';
import { ApiPage, pageBody } from '../../platform/rest/page.js';
import { type Preconditions, RequestPreconditions } from '../../platform/rest/preconditions.js';
import { ApiRepresentation, representation } from '../../platform/rest/representation.js';
import type { JsonText } from '../../platform/json/json-text.js';
import { ListPlantsDto } from './dto/list-plants.dto.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { StoredPlantDto } from './dto/stored-plant.dto.js';
import { PlantErrors } from './plants.errors.js';
import { etagOf, PlantsService } from './plants.service.js';

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
  @ApiPage(StoredPlantDto, 'A page of plants')
  async list(
    @Query() query: ListPlantsDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText> {
    return pageBody(await this.plants.list(query), query, response);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readPlant', summary: 'Read a plant' })
  @ApiRepresentation(StoredPlantDto, 'The plant as it is stored')
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  async read(
    @Param() { id }: IdDto,
    @RequestPreconditions() preconditions: Preconditions,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StoredPlantDto | undefined> {
    const plant = await this.plants.find(id);
    const { name, tag } = plant;
    const body = tag === null ? { id, name } : { id, name, tag };
    return representation(body, etagOf(plant), preconditions, response);
  }

  @Put(':id')
  @ApiOperation({ operationId: 'replacePlant', summary: 'Replace a plant' })
  @ApiOkResponse({ description: 'Plant response; the plant was replaced', type: PlantDto })
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  replace(
    @Param() { id }: IdDto,
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
    @Param() { id }: IdDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<void> {
    return this.plants.remove(id, preconditions);
  }
}
