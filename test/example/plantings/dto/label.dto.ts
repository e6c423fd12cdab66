import { ApiProperty, ApiSchema, PickType } from '@nestjs/swagger';
import { PageQueryDto } from '../../../../src/platform/rest/page.js';
import { IsText, IsUuid } from '../../../../src/platform/validation/types.decorators.js';
import { NewPlantingDto } from './new-planting.dto.js';

/** Which labels to list. */
export class ListLabelsDto extends PickType(PageQueryDto, ['limit']) {
  @IsUuid()
  @ApiProperty({ description: 'The id of the garden' })
  gardenId!: string;
}

/** The label beside a planting. */
@ApiSchema({ name: 'PlantingLabel' })
export class LabelDto extends PickType(NewPlantingDto, ['plantId', 'quantity']) {
  @IsText()
  @ApiProperty({ description: 'The name of the plant', example: 'Monstera' })
  name!: string;
}
