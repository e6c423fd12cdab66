import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsString, Matches, Max, Min } from 'class-validator';
import { CURSOR, LATEST } from 'durable-store';
import { IsOptionalNotNull } from '../../validation/types.decorators.js';

const AFTER = new RegExp(`^${LATEST}$|${CURSOR.source}`);
const MAX_LIMIT = 1_000;
const MAX_WAIT = 25;

/** The query for a page of changes. */
export class ListChangesDto {
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  @ApiProperty({ description: 'How many to list at most', maximum: MAX_LIMIT, example: 100 })
  limit = 100;

  @IsOptionalNotNull()
  @IsString()
  @Matches(AFTER, { message: `$property must be ${LATEST}, or a cursor of this feed` })
  @ApiPropertyOptional({
    pattern: AFTER.source,
    description: `The cursor of the last change that is known, or \`${LATEST}\`. By default a page starts with the oldest change that is kept`,
    example: LATEST,
  })
  after?: string;

  @IsOptionalNotNull()
  @IsInt()
  @Min(0)
  @Max(MAX_WAIT)
  @ApiPropertyOptional({
    type: 'integer',
    description: 'How many seconds to wait for a change, if there is none; 0 by default',
    maximum: MAX_WAIT,
    example: 0,
  })
  wait?: number;
}
