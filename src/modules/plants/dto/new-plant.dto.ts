import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsInt64 } from '../../../platform/validation/is-int64.decorator.js';
import { PlantDto } from './plant.dto.js';

@ApiSchema({ name: 'NewPlant' })
export class NewPlantDto extends PlantDto {
  @IsInt64()
  @ApiProperty({
    description: 'Identification number of the plant',
    type: 'integer',
    format: 'int64',
    example: 1,
  })
  id!: bigint;
}
