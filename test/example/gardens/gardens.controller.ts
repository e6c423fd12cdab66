import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  HttpStatus,
  Param,
  Patch,
  Post,
  Put,
  Query,
} from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import type { JsonPage } from '../../../src/platform/database/batched-repository.js';
import { ApiErrors } from '../../../src/platform/errors/api-errors.decorator.js';
import { ApiTag } from '../../../src/platform/rest/api-tag.decorator.js';
import { ApiCreated } from '../../../src/platform/rest/created-response.js';
import { ApiRepresentation, type Representation } from '../../../src/platform/rest/etag.js';
import { UuidDto } from '../../../src/platform/rest/id.dto.js';
import { ApiPage } from '../../../src/platform/rest/page.js';
import {
  type Preconditions,
  RequestPreconditions,
} from '../../../src/platform/rest/preconditions.js';
import { GardenPatchDto } from './dto/garden-patch.dto.js';
import { GardenDto } from './dto/garden.dto.js';
import { ListGardensDto } from './dto/list-gardens.dto.js';
import { StoredGardenDto } from './dto/stored-garden.dto.js';
import { GardenErrors } from './gardens.errors.js';
import { GardensService } from './gardens.service.js';

@ApiTag('gardens', 'The gardens in the store')
@Controller('gardens')
export class GardensController {
  constructor(private readonly gardens: GardensService) {}

  @Post()
  @ApiOperation({ operationId: 'createGarden', summary: 'Create a garden' })
  @ApiCreated(StoredGardenDto, 'The garden under the id that was drawn for it')
  @ApiErrors(GardenErrors.NAME_IN_USE)
  create(@Body() garden: GardenDto): Promise<StoredGardenDto> {
    return this.gardens.create(garden);
  }

  @Get()
  @ApiOperation({ operationId: 'listGardens', summary: 'List gardens, in the order of their ids' })
  @ApiPage(StoredGardenDto, 'A page of gardens')
  list(@Query() query: ListGardensDto): Promise<JsonPage> {
    return this.gardens.list(query);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'readGarden', summary: 'Read a garden' })
  @ApiRepresentation(StoredGardenDto, 'The garden as it is stored')
  @ApiErrors(GardenErrors.GARDEN_NOT_FOUND)
  read(@Param() { id }: UuidDto): Promise<Representation<StoredGardenDto>> {
    return this.gardens.read(id);
  }

  @Put(':id')
  @ApiOperation({ operationId: 'replaceGarden', summary: 'Replace a garden' })
  @ApiOkResponse({ description: 'The garden was replaced', type: GardenDto })
  @ApiErrors(GardenErrors.GARDEN_NOT_FOUND, GardenErrors.NAME_IN_USE)
  replace(
    @Param() { id }: UuidDto,
    @Body() garden: GardenDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<GardenDto> {
    return this.gardens.replace(id, garden, preconditions);
  }

  @Patch(':id')
  @ApiOperation({ operationId: 'patchGarden', summary: 'Change some members of a garden' })
  @ApiOkResponse({ description: 'The garden as it is now', type: GardenDto })
  @ApiErrors(GardenErrors.GARDEN_NOT_FOUND, GardenErrors.NAME_IN_USE)
  update(
    @Param() { id }: UuidDto,
    @Body() patch: GardenPatchDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<GardenDto> {
    return this.gardens.update(id, patch, preconditions);
  }

  @Delete(':id')
  @HttpCode(HttpStatus.NO_CONTENT)
  @ApiOperation({ operationId: 'removeGarden', summary: 'Remove a garden' })
  @ApiNoContentResponse({ description: 'The garden was removed' })
  @ApiErrors(GardenErrors.GARDEN_NOT_FOUND, GardenErrors.GARDEN_IN_USE)
  remove(
    @Param() { id }: UuidDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<void> {
    return this.gardens.remove(id, preconditions);
  }
}
