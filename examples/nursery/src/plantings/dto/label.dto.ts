import { ApiProperty, ApiSchema, PickType } from '@nestjs/swagger';
import { IsText, IsUuid, PageQueryDto } from 'durable-rest';
import { NewPlantingDto } from './new-planting.dto.js';

/** Which labels to list. */
export class ListLabelsDto extends PickType(PageQueryDto, ['limit']) {
  @IsUuid()
  @ApiProperty({ description: 'The id of the garden' })
  gardenId!: string;
}

/** The label beside a planting. */
@ApiSchema({ name: 'PlantingLabel' })
export class LabelDto extends PickType(NewPlantingDto, ['varietyId', 'quantity']) {
  @IsText()
  @ApiProperty({ description: 'The name of the variety', example: 'Monstera deliciosa' })
  name!: string;
}
