import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInstant, IsOptionalNotNull, PageQueryDto, Satisfies } from 'durable-rest';

/** Which sales to list. */
export class ListSalesDto extends PageQueryDto {
  @IsOptionalNotNull()
  @IsInstant()
  @ApiPropertyOptional({ description: 'Only sales at this moment or later' })
  from?: string;

  @Satisfies(
    'must be later than from',
    ({ from, before }: ListSalesDto) => from === undefined || before === undefined || before > from,
  )
  @IsOptionalNotNull()
  @IsInstant()
  @ApiPropertyOptional({ description: 'Only sales before this moment' })
  before?: string;
}
