import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Min } from 'class-validator';
import {
  IsCalendarDate,
  IsInt32,
  IsInt64,
  IsUuid,
} from '../../../../src/platform/validation/types.decorators.js';

@ApiSchema({ name: 'Move' })
export class MoveDto {
  @IsInt64()
  @ApiProperty({ description: 'The id of the plant', example: 1 })
  plantId!: bigint;

  @IsUuid()
  @ApiProperty({ description: 'The garden in which they are' })
  fromGardenId!: string;

  @IsUuid()
  @ApiProperty({ description: 'The garden in which they are to be' })
  toGardenId!: string;

  @IsCalendarDate()
  @ApiProperty({ description: 'When they are planted there, if none are yet' })
  plantedOn!: string;

  @IsInt32()
  @Min(1)
  @ApiProperty({ description: 'How many are moved', example: 1 })
  quantity!: number;
}
