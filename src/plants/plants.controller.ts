import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiErrors } from '../errors/api-errors.decorator.js';
import { JsonBody } from '../http/json-body.decorator.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { PlantsService } from './plants.service.js';

@ApiTags('plants')
@Controller('plants')
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @HttpCode(200)
  @ApiOperation({ operationId: 'createPlant', summary: 'Create a plant in the store' })
  @ApiOkResponse({ description: 'Plant response; the plant was created', type: PlantDto })
  @ApiErrors('ID_IN_USE', 'ALREADY_EXISTS')
  create(@JsonBody() plant: NewPlantDto): Promise<PlantDto> {
    return this.plants.create(plant);
  }
}
