import { ApiProperty } from '@nestjs/swagger';
import { IsInt32 } from 'durable-rest';

/** The path parameters of a photo. */
export class VarietyIdDto {
  @IsInt32()
  @ApiProperty({ description: 'The id of the variety' })
  id!: number;
}
