import { ApiProperty } from '@nestjs/swagger';
import { IsInt64 } from '../../validation/is-int64.decorator.js';

/** The path to one plant. */
export class PlantIdDto {
  @IsInt64()
  @ApiProperty({
    description: 'Identification number of the plant, in decimal digits',
    type: 'integer',
    format: 'int64',
  })
  id!: bigint;
}
