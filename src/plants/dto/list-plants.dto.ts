import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';
import { IsInt64 } from '../../validation/is-int64.decorator.js';
import { IsOptionalNotNull } from '../../validation/is-optional-not-null.decorator.js';
import { IsText, TEXT_PATTERN } from '../../validation/is-text.decorator.js';

/** Which plants to list. */
export class ListPlantsDto {
  @IsInt()
  @Min(1)
  @Max(1000)
  @ApiProperty({ description: 'How many plants to list at most' })
  limit = 100;

  @IsOptionalNotNull()
  @IsInt64()
  @ApiPropertyOptional({
    description: 'The id after which the page begins: the last one of the page before',
    type: 'integer',
    format: 'int64',
  })
  after?: bigint;

  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({
    description: 'Only plants with exactly this tag; an empty one is a tag too',
    pattern: TEXT_PATTERN,
  })
  tag?: string;
}
