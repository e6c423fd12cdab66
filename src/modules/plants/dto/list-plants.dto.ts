import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsSort, PageQueryDto } from '../../../platform/rest/page.js';
import {
  IsOptionalNotNull,
  IsText,
  Satisfies,
} from '../../../platform/validation/types.decorators.js';

/** Which plants to list, and in which order. */
export class ListPlantsDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsText({ minLength: 1 })
  @ApiPropertyOptional({
    description: 'Only plants whose name starts with this, where A to Z equal a to z',
  })
  name?: string;

  @IsSort('id', 'name')
  @Satisfies(
    'must be name or -name beside name',
    ({ name, sort }: ListPlantsDto) => name === undefined || isByName(sort),
  )
  @ApiPropertyOptional({
    description:
      'By the id, or by the first 64 characters of the name with A to Z as small letters and then by the id; with a minus in reverse. By default name beside `name`, and otherwise id',
  })
  sort?: string;

  // No index serves it.
  @Satisfies(
    'must not be given beside name or a sort by name',
    ({ name, sort }: ListPlantsDto) => name === undefined && !isByName(sort),
  )
  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({
    description:
      'Only plants with exactly this tag; an empty one is a tag too. Not beside `name` or a sort by name',
  })
  tag?: string;
}

function isByName(sort: string | undefined): boolean {
  return sort === 'name' || sort === '-name';
}
