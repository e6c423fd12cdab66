import { ApiPropertyOptional } from '@nestjs/swagger';
import {
  IsCalendarDate,
  IsInt32,
  IsOptionalNotNull,
  IsSort,
  IsUuid,
  PageQueryDto,
} from 'durable-rest';

/** Which plantings to list. */
export class ListPlantingsDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsUuid()
  @ApiPropertyOptional({ description: 'Only plantings with exactly this gardenId' })
  gardenId?: string;

  @IsOptionalNotNull()
  @IsInt32()
  @ApiPropertyOptional({ description: 'Only plantings with exactly this varietyId' })
  varietyId?: number;

  @IsOptionalNotNull()
  @IsCalendarDate()
  @ApiPropertyOptional({ description: 'Only plantings with exactly this plantedOn' })
  plantedOn?: string;

  @IsSort('plantedOn')
  @ApiPropertyOptional({ description: 'The order, with a minus in front for its reverse' })
  sort?: string;
}
