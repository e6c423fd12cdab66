import { ApiProperty, ApiSchema, PickType } from '@nestjs/swagger';
import { PageQueryDto } from '../../../../src/platform/rest/page.js';
import {
  IsInt32,
  IsInt64,
  IsText,
  IsUuid,
} from '../../../../src/platform/validation/types.decorators.js';

/** Which labels to list. */
export class ListLabelsDto extends PickType(PageQueryDto, ['limit']) {
  @IsUuid()
  @ApiProperty({ description: 'The id of the garden' })
  gardenId!: string;
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
