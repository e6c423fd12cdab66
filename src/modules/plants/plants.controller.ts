import {
  Body,
  Controller,
  Delete,
  Get,
  Param,
  Patch,
  Post,
  Put,
  Query,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  ApiErrors,
  ApiImport,
  ApiNoContent,
  ApiOk,
  ApiPage,
  ApiRepresentation,
  ApiTag,
  type BodyLines,
  IdDto,
  type ImportResultDto,
  type JsonPage,
  Lines,
  type Preconditions,
  type Representation,
  RequestPreconditions,
} from 'durable-rest';
import { ListPlantsDto } from './dto/list-plants.dto.js';
import { NewPlantDto, PlantDto, PlantPatchDto, StoredPlantDto } from './dto/plant.dto.js';
import { PlantErrors } from './plants.errors.js';
import { PlantsService } from './plants.service.js';

@ApiTag('plants', 'The plants in the store')
@Controller({ path: 'plants', version: VERSION_NEUTRAL })
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @ApiOperation({ operationId: 'createPlant', summary: 'Create a plant in the store' })
  @ApiOk(PlantDto, 'Plant response; the plant was created')
  @ApiErrors(PlantErrors.ID_IN_USE, PlantErrors.ALREADY_EXISTS)
  create(@Body() plant: NewPlantDto): Promise<PlantDto> {
    return this.plants.create(plant);
  }

  @Post('import')
  @ApiOperation({
    operationId: 'importPlants',
    summary: 'Create any number of plants',
    description:
      'Safe to retry: lines that are stored already count as `identical`. A refused line fails alone.',
  })
  @ApiImport(NewPlantDto, 'The outcome of the import')
  import(@Lines(NewPlantDto) plants: BodyLines<NewPlantDto>): Promise<ImportResultDto> {
    return this.plants.import(plants);
  }

  @Get()
  @ApiOperation({ operationId: 'listPlants', summary: 'List plants' })
  @ApiPage(StoredPlantDto, 'A page of plants')
  list(@Query() query: ListPlantsDto): Promise<JsonPage> {
    return this.plants.list(query);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readPlant', summary: 'Read a plant' })
  @ApiRepresentation(StoredPlantDto, 'The plant as it is stored')
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  read(@Param() { id }: IdDto): Promise<Representation<StoredPlantDto>> {
    return this.plants.read(id);
  }

  @Put(':id')
  @ApiOperation({ operationId: 'replacePlant', summary: 'Replace a plant' })
  @ApiOk(PlantDto, 'Plant response; the plant was replaced')
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  replace(
    @Param() { id }: IdDto,
    @Body() plant: PlantDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<PlantDto> {
    return this.plants.replace(id, plant, preconditions);
  }

  @Patch(':id')
  @ApiOperation({ operationId: 'patchPlant', summary: 'Change some members of a plant' })
  @ApiOk(PlantDto, 'Plant response; the plant as it is now')
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  update(
    @Param() { id }: IdDto,
    @Body() patch: PlantPatchDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<PlantDto> {
    return this.plants.update(id, patch, preconditions);
  }

  @Delete(':id')
  @ApiOperation({ operationId: 'removePlant', summary: 'Remove a plant' })
  @ApiNoContent('The plant was removed')
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  remove(
    @Param() { id }: IdDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<void> {
    return this.plants.remove(id, preconditions);
  }
}
