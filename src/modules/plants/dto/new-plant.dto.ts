import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { PlantDto } from './plant.dto.js';
import { IsInt64, IsOptionalNotNull, IsText } from 'durable-rest';

/** A subclass of Plant would have the id last, in the document and in its example. */
@ApiSchema({ name: 'NewPlant' })
export class NewPlantDto implements PlantDto {
  @IsInt64()
  @ApiProperty({ description: 'Identification number of the plant', example: 1 })
  id!: bigint;

  @IsText()
  @ApiProperty({ description: 'The name of the plant', example: 'Monstera' })
  name!: string;

  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({ description: 'Tag to specify the type', example: 'indoor' })
  tag?: string;
}
