import { Body, Controller, Get, Injectable, Module, Param, Put, Query } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOperation } from '@nestjs/swagger';
import {
  ApiOk,
  ApiPage,
  ApiTag,
  BatchedRepositoryOf,
  type JsonPage,
  PageQueryDto,
  Public,
} from 'durable-rest';
import { PlantsModule } from '../plants/plants.module.js';
import { PlantsService } from '../plants/plants.service.js';
import { LabelCodeDto, LabelDto } from './label.dto.js';
import { Label } from './label.entity.js';

@Injectable()
class LabelsRepository extends BatchedRepositoryOf(Label) {}

/** Without POST, PATCH and DELETE, in one file, and with operations of any form. */
@ApiTag('labels', 'The labels of plants')
@Controller('labels')
class LabelsController {
  constructor(
    private readonly labels: LabelsRepository,
    private readonly plants: PlantsService,
  ) {}

  @Put()
  @ApiOperation({ operationId: 'putLabel', summary: 'Put a label on a plant' })
  @ApiOk(LabelDto, 'The label')
  async put(@Body() label: LabelDto): Promise<LabelDto> {
    await this.plants.assertExists(label.plantId);
    await this.labels.change(label.code, () => label);
    return label;
  }

  @Get()
  @ApiOperation({ operationId: 'listLabels', summary: 'List labels' })
  @ApiPage(LabelDto, 'A page of labels')
  list(@Query() query: PageQueryDto): Promise<JsonPage> {
    return this.labels.page(query);
  }

  @Get('count')
  count(): string {
    return 'any';
  }

  @Public()
  @ApiExcludeEndpoint()
  @Get('hidden/:code')
  hidden(@Param() { code }: LabelCodeDto): string {
    return code;
  }
}

@Module({
  imports: [PlantsModule],
  controllers: [LabelsController],
  providers: [LabelsRepository],
})
export class LabelsModule {}
