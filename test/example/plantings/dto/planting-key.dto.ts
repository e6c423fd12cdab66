import { ApiProperty } from '@nestjs/swagger';
import { IsInt64, IsUuid } from '../../../../src/platform/validation/types.decorators.js';

/** The path parameters of a planting. */
export class PlantingKeyDto {
  @IsUuid()
  @ApiProperty({
    description: 'The id of the garden',
    example: '00000000-0000-4000-8000-000000000001',
  })
  gardenId!: string;

  @IsInt64()
  @ApiProperty({ description: 'The id of the plant', example: 1 })
  plantId!: bigint;
}
