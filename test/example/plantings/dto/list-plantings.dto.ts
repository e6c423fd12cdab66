import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsSort, PageQueryDto } from '../../../../src/platform/rest/page.js';
import {
  IsCalendarDate,
  IsInt64,
  IsOptionalNotNull,
  IsUuid,
} from '../../../../src/platform/validation/types.decorators.js';

/** Which plantings to list. */
export class ListPlantingsDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsUuid()
  @ApiPropertyOptional({ description: 'Only plantings with exactly this gardenId' })
  gardenId?: string;

  @IsOptionalNotNull()
  @IsInt64()
  @ApiPropertyOptional({ description: 'Only plantings with exactly this plantId' })
  plantId?: bigint;

  @IsOptionalNotNull()
  @IsCalendarDate()
  @ApiPropertyOptional({ description: 'Only plantings with exactly this plantedOn' })
  plantedOn?: string;

  @IsSort('plantedOn')
  @ApiPropertyOptional({ description: 'The order, with a minus in front for its reverse' })
  sort?: string;
}
