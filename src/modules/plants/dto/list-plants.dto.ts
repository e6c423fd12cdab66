import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptionalNotNull, IsSort, IsText, PageQueryDto, Satisfies } from 'durable-rest';

/** The query for a list of plants. */
export class ListPlantsDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsText({ minLength: 1, maxLength: 64 })
  @ApiPropertyOptional({
    description:
      'Only plants whose name starts with this text; A to Z match a to z. An index holds the first 64 characters of the names',
    example: 'mon',
  })
  name?: string;

  @IsSort('id', 'name')
  @Satisfies(
    'must be name or -name when name is given',
    ({ name, sort }: ListPlantsDto) => name === undefined || isByName(sort),
  )
  @ApiPropertyOptional({
    description:
      'The order. `name` compares the first 64 characters of the names, with A to Z as small letters, and then the ids. A minus reverses the order. The default is `name` if `name` is given, and `id` otherwise',
    example: 'id',
  })
  sort?: string;

  // No index supports the combination.
  @Satisfies(
    'must not be given together with name or a sort by name',
    ({ name, sort }: ListPlantsDto) => name === undefined && !isByName(sort),
  )
  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({
    description:
      'Only plants with exactly this tag, which may be the empty string. Not together with `name` or a sort by name',
    example: 'fern',
  })
  tag?: string;
}

function isByName(sort: string | undefined): boolean {
  return sort === 'name' || sort === '-name';
}
