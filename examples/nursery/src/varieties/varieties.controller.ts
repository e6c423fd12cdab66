import { Body, Controller, Delete, Get, HttpCode, Param, ParseIntPipe, Post } from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { CreateVarietyDto } from './create-variety.dto.js';
import { VarietiesService } from './varieties.service.js';
import { Variety } from './variety.entity.js';

// With nothing of the platform: Nest's decorators, class-validator's rules and TypeORM's repository.

@ApiTags('varieties')
@Controller('varieties')
export class VarietiesController {
  constructor(private readonly varieties: VarietiesService) {}

  @Post()
  @ApiOperation({ operationId: 'createVariety', summary: 'Create a variety' })
  @ApiCreatedResponse({ description: 'The variety was created', type: Variety })
  create(@Body() variety: CreateVarietyDto): Promise<Variety> {
    return this.varieties.create(variety);
  }

  @Get()
  @ApiOperation({ operationId: 'listVarieties', summary: 'List all varieties by name' })
  @ApiOkResponse({ description: 'The varieties', type: [Variety] })
  findAll(): Promise<Variety[]> {
    return this.varieties.findAll();
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readVariety', summary: 'Read a variety' })
  @ApiOkResponse({ description: 'The variety', type: Variety })
  @ApiNotFoundResponse({ description: 'There is no such variety' })
  findOne(@Param('id', ParseIntPipe) id: number): Promise<Variety> {
    return this.varieties.findOne(id);
  }

  @Delete(':id')
  @HttpCode(204)
  @ApiOperation({ operationId: 'removeVariety', summary: 'Remove a variety that was never sold' })
  @ApiNoContentResponse({ description: 'The variety was removed' })
  @ApiNotFoundResponse({ description: 'There is no such variety' })
  @ApiConflictResponse({ description: 'Sales refer to the variety' })
  remove(@Param('id', ParseIntPipe) id: number): Promise<void> {
    return this.varieties.remove(id);
  }
}
