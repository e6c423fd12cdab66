import { ApiProperty } from '@nestjs/swagger';
import { IsInt64, IsUuid } from '../validation/types.decorators.js';

/** The path parameters of a row with an int64 as its key. */
export class IdDto {
  @IsInt64()
  @ApiProperty({ description: 'Identification number, in decimal digits' })
  id!: bigint;
}

/** The path parameters of a row with a UUID as its key. */
export class UuidDto {
  @IsUuid()
  @ApiProperty({ description: 'Identification, a UUID' })
  id!: string;
}
