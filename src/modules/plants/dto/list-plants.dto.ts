import { ApiPropertyOptional } from '@nestjs/swagger';
import { PageQueryDto } from '../../../platform/rest/page.js';
import { IsOptionalNotNull } from '../../../platform/validation/is-optional-not-null.decorator.js';
import { IsText, TEXT_PATTERN } from '../../../platform/validation/is-text.decorator.js';

/** Which plants to list. */
export class ListPlantsDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({
    description: 'Only plants with exactly this tag; an empty one is a tag too',
    pattern: TEXT_PATTERN,
  })
  tag?: string;
}
