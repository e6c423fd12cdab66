import { ApiProperty } from '@nestjs/swagger';
import { IsInt32, IsUuid } from 'durable-rest';

/** The path parameters of a planting. */
export class PlantingKeyDto {
  @IsUuid()
  @ApiProperty({
    description: 'The id of the garden',
    example: '00000000-0000-4000-8000-000000000001',
  })
  gardenId!: string;

  @IsInt32()
  @ApiProperty({ description: 'The id of the variety', example: 1 })
  varietyId!: number;
}
