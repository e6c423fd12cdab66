import { ApiProperty, ApiSchema, PickType } from '@nestjs/swagger';
import { Min } from 'class-validator';
import { IsInt32, IsUuid } from 'durable-rest';
import { NewPlantingDto } from './new-planting.dto.js';

@ApiSchema({ name: 'PlantingMove' })
/** The plants to move, and when they are planted if none of the variety are there yet. */
export class MoveDto extends PickType(NewPlantingDto, ['varietyId', 'plantedOn']) {
  @IsUuid()
  @ApiProperty({ description: 'The garden in which they are' })
  fromGardenId!: string;

  @IsUuid()
  @ApiProperty({ description: 'The garden in which they are to be' })
  toGardenId!: string;

  @IsInt32()
  @Min(1)
  @ApiProperty({ description: 'How many are moved', example: 1 })
  quantity!: number;
}
