import { ApiPropertyOptional } from '@nestjs/swagger';
import { Decimal } from '../../../../src/platform/json/decimal.js';
import { IsSort, PageQueryDto } from '../../../../src/platform/rest/page.js';
import {
  IsDecimal,
  IsOptionalNotNull,
  IsText,
} from '../../../../src/platform/validation/types.decorators.js';

/** Which gardens to list. */
export class ListGardensDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsText({ maxLength: 200 })
  @ApiPropertyOptional({ description: 'Only gardens with exactly this name' })
  name?: string;

  @IsOptionalNotNull()
  @IsDecimal(12, 2)
  @ApiPropertyOptional({ description: 'Only gardens with exactly this area' })
  area?: Decimal;

  @IsSort('id', 'area')
  @ApiPropertyOptional({ description: 'The order, with a minus in front for its reverse' })
  sort?: string;
}
