import { ApiProperty } from '@nestjs/swagger';
import { IsInt64, IsUuid } from '../validation/types.decorators.js';

/** The path parameters of a row with an int64 as its key. */
export class IdDto {
  @IsInt64()
  @ApiProperty({ description: 'Identification number, in decimal digits', example: 1001 })
  id!: bigint;
}

/** The path parameters of a row with a UUID as its key. */
export class UuidDto {
  @IsUuid()
  @ApiProperty({
    description: 'Identification, a UUID',
    example: '00000000-0000-4000-8000-000000000001',
  })
  id!: string;
}
