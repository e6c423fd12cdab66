import { ApiProperty, ApiPropertyOptional, ApiSchema, OmitType } from '@nestjs/swagger';
import { IsInt64, IsOptionalNotNull, IsText, MergePatch } from 'durable-rest';

/** A plant as it is created. The other classes derive their members from it. */
@ApiSchema({ name: 'NewPlant' })
export class NewPlantDto {
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

/** A plant as it is stored: with the members that it was created with. */
@ApiSchema({ name: 'StoredPlant' })
export class StoredPlantDto extends NewPlantDto {}

/** A plant without its id. */
@ApiSchema({ name: 'Plant' })
export class PlantDto extends OmitType(NewPlantDto, ['id']) {}

/** A JSON merge patch (RFC 7396): null removes an optional member. */
@ApiSchema({ name: 'PlantPatch' })
export class PlantPatchDto extends MergePatch(PlantDto) {}
