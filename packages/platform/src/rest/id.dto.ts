import { ApiProperty } from '@nestjs/swagger';
import { IsInt64, IsUuid } from '../validation/types.decorators.js';

/**
 * The path parameters of a row with an int64 as its key, a bigint. A client gets 40003 for any
 * other text than the digits of such a number.
 *
 * @example
 * ```ts
 * @Get(':id')
 * @ApiRepresentation(StoredPlantDto, 'The plant as it is stored')
 * read(@Param() { id }: IdDto): Promise<Representation<StoredPlantDto>> {
 *   return this.plants.read(id);
 * }
 * ```
 */
export class IdDto {
  @IsInt64()
  @ApiProperty({ description: 'Identification number, in decimal digits', example: 1001 })
  id!: bigint;
}

/**
 * The path parameters of a row with a UUID as its key, which is read in lowercase. A client gets
 * 40003 for any other text.
 *
 * @see {@link https://www.rfc-editor.org/rfc/rfc9562 RFC 9562}
 * @example
 * ```ts
 * @Get(':id')
 * @ApiOk(SaleDto, 'The sale')
 * read(@Param() { id }: UuidDto): Promise<SaleDto> {
 *   return this.sales.read(id);
 * }
 * ```
 */
export class UuidDto {
  @IsUuid()
  @ApiProperty({
    description: 'Identification, a UUID',
    example: '00000000-0000-4000-8000-000000000001',
  })
  id!: string;
}
