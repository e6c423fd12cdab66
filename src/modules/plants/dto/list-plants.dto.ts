import { ApiPropertyOptional } from '@nestjs/swagger';
import { PageQueryDto } from '../../../platform/rest/page.js';
import { IsOptionalNotNull, IsText } from '../../../platform/validation/types.decorators.js';

/** Which plants to list. */
export class ListPlantsDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({
    description: 'Only plants with exactly this tag; an empty one is a tag too',
  })
  tag?: string;
}
