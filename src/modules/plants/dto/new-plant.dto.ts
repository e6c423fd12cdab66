import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { PlantDto } from './plant.dto.js';
import { IsInt64 } from '../../../platform/validation/types.decorators.js';

@ApiSchema({ name: 'NewPlant' })
export class NewPlantDto extends PlantDto {
  @IsInt64()
  @ApiProperty({ description: 'Identification number of the plant', example: 1 })
  id!: bigint;
}
