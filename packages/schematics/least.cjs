// The least module, in the words of plants, which are replaced like those of the pattern.

exports.LEAST = {
  'plant.entity.ts': `
import { int64, text } from 'durable-rest';
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('plants')
export class Plant {
  /** An int64 as a decimal string, since a JavaScript number cannot hold every one. */
  @PrimaryColumn(int64())
  id!: string;

  @Column(text())
  name!: string;
}
`,
  'plant.dto.ts': `
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsInt64, IsText } from 'durable-rest';

@ApiSchema({ name: 'Plant' })
export class PlantDto {
  @IsInt64()
  @ApiProperty({ description: 'Identification number of the plant', example: 1 })
  id!: bigint;

  @IsText()
  @ApiProperty({ description: 'The name of the plant' })
  name!: string;
}
`,
  'plants.errors.ts': `
import { defineErrors } from 'durable-rest';

export const PlantErrors = defineErrors({
  PLANT_NOT_FOUND: {
    error: 40401,
    message: 'There is no plant with this id',
    advice: 'Create the plant first.',
  },
  ID_IN_USE: {
    error: 40900,
    message: 'The id is in use by a different plant',
    advice: 'Choose another id. After a retry, first read the plant: it may be yours.',
  },
  ALREADY_EXISTS: {
    error: 40901,
    message: 'This very plant, with the same members, already exists',
    advice: 'After a retry, take this as success.',
    isRetry: true,
  },
});
`,
  'plants.repository.ts': `
import { BatchedRepositoryOf } from 'durable-rest';
import { Plant } from './plant.entity.js';

export class PlantsRepository extends BatchedRepositoryOf(Plant) {}
`,
  'plants.service.ts': `
import { Injectable } from '@nestjs/common';
import { ApiError, type JsonPage, type PageQueryDto } from 'durable-rest';
import type { PlantDto } from './plant.dto.js';
import { PlantErrors } from './plants.errors.js';
import { PlantsRepository } from './plants.repository.js';

@Injectable()
export class PlantsService {
  constructor(private readonly plants: PlantsRepository) {}

  async create(plant: PlantDto): Promise<PlantDto> {
    const outcome = await this.plants.create(plant);
    if (outcome === 'identical') throw new ApiError(PlantErrors.ALREADY_EXISTS);
    if (outcome !== 'created') throw new ApiError(PlantErrors.ID_IN_USE);
    return plant;
  }

  async read(id: bigint): Promise<PlantDto> {
    const plant = await this.plants.find(id);
    if (plant === undefined) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
    return { id, name: plant.name };
  }

  list(query: PageQueryDto): Promise<JsonPage> {
    return this.plants.page({ sort: 'id', ...query });
  }
}
`,
  'plants.controller.ts': `
import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import {
  ApiErrors,
  ApiOk,
  ApiPage,
  ApiTag,
  IdDto,
  type JsonPage,
  PageQueryDto,
} from 'durable-rest';
import { PlantDto } from './plant.dto.js';
import { PlantErrors } from './plants.errors.js';
import { PlantsService } from './plants.service.js';

@ApiTag('plants', 'The plants in the store')
@Controller('plants')
export class PlantsController {
  constructor(private readonly plants: PlantsService) {}

  @Post()
  @ApiOperation({ operationId: 'createPlant', summary: 'Create a plant' })
  @ApiOk(PlantDto, 'The plant was created')
  @ApiErrors(PlantErrors.ID_IN_USE, PlantErrors.ALREADY_EXISTS)
  create(@Body() plant: PlantDto): Promise<PlantDto> {
    return this.plants.create(plant);
  }

  @Get()
  @ApiOperation({ operationId: 'listPlants', summary: 'List plants' })
  @ApiPage(PlantDto, 'A page of plants')
  list(@Query() query: PageQueryDto): Promise<JsonPage> {
    return this.plants.list(query);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readPlant', summary: 'Read a plant' })
  @ApiOk(PlantDto, 'The plant')
  @ApiErrors(PlantErrors.PLANT_NOT_FOUND)
  read(@Param() { id }: IdDto): Promise<PlantDto> {
    return this.plants.read(id);
  }
}
`,
  'plants.module.ts': `
import { Module } from '@nestjs/common';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

@Module({
  controllers: [PlantsController],
  providers: [PlantsService, PlantsRepository],
})
export class PlantsModule {}
`,
  'migrations/1763000000000-create-plants.ts': `
import { CreateTable, int64, text } from 'durable-rest';

export class CreatePlants1763000000000 extends CreateTable({
  name: 'plants',
  columns: { id: int64(), name: text() },
  key: ['id'],
}) {}
`,
  'plants.e2e-spec.ts': `
import { expect, it } from '@jest/globals';
import { expectError } from 'durable-rest/testing';
import { TestApp } from '../../../test/support/test-app.js';
import { PlantErrors } from './plants.errors.js';

const app = TestApp.forAll();

it('a plant is created once, read and listed', async () => {
  const plant = { id: 1, name: 'first' };
  expectError(await app.get('/plants/1'), PlantErrors.PLANT_NOT_FOUND);
  expect((await app.post('/plants', JSON.stringify(plant))).body).toEqual(plant);
  expectError(await app.post('/plants', JSON.stringify(plant)), PlantErrors.ALREADY_EXISTS);
  expectError(await app.post('/plants', '{"id":1,"name":"other"}'), PlantErrors.ID_IN_USE);
  expect((await app.get('/plants/1')).body).toEqual(plant);
  expect((await app.get('/plants')).body).toEqual([plant]);
});
`,
};
