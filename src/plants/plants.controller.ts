import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ApiTag } from '../docs/api-tag.decorator.js';
import { ApiErrors } from '../errors/api-errors.decorator.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { PlantErrors } from './plants.errors.js';
import { PlantsService } from './plants.service.js';

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
}
