import { ApiProperty, ApiSchema, PickType } from '@nestjs/swagger';
import { Min } from 'class-validator';
import { IsInt32, IsUuid } from '../../../../src/platform/validation/types.decorators.js';
import { NewPlantingDto } from './new-planting.dto.js';

@ApiSchema({ name: 'PlantingMove' })
/** The plants to move, and when they are planted if none of their kind are there yet. */
export class MoveDto extends PickType(NewPlantingDto, ['plantId', 'plantedOn']) {
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
