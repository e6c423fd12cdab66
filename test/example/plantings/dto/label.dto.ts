import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsInt, Max, Min } from 'class-validator';
import {
  IsInt32,
  IsInt64,
  IsText,
  IsUuid,
} from '../../../../src/platform/validation/types.decorators.js';

/** Which labels to list. */
export class ListLabelsDto {
  @IsUuid()
  @ApiProperty({ description: 'The id of the garden' })
  gardenId!: string;

  @IsInt()
  @Min(1)
  @Max(1_000)
  @ApiProperty({ description: 'How many to list at most' })
  limit = 100;
}

/** The label beside a planting. */
@ApiSchema({ name: 'Label' })
export class LabelDto {
  @IsInt64()
  @ApiProperty({ description: 'The id of the plant', example: 1 })
  plantId!: bigint;

  @IsText()
  @ApiProperty({ description: 'The name of the plant', example: 'Monstera' })
  name!: string;

  @IsInt32()
  @ApiProperty({ description: 'The quantity of the planting', example: 1 })
  quantity!: number;
}
