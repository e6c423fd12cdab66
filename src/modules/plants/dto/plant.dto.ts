import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsText, TEXT_PATTERN } from '../../../platform/validation/is-text.decorator.js';
import { IsOptionalNotNull } from '../../../platform/validation/is-optional-not-null.decorator.js';

@ApiSchema({ name: 'Plant' })
export class PlantDto {
  @IsText()
  @ApiProperty({ description: 'The name of the plant', pattern: TEXT_PATTERN, example: 'Monstera' })
  name!: string;

  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({
    description: 'Tag to specify the type',
    pattern: TEXT_PATTERN,
    example: 'indoor',
  })
  tag?: string;
}
