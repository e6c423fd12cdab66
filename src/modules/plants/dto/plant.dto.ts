import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsOptionalNotNull, IsText } from 'durable-rest';

@ApiSchema({ name: 'Plant' })
export class PlantDto {
  @IsText()
  @ApiProperty({ description: 'The name of the plant', example: 'Monstera' })
  name!: string;

  @IsOptionalNotNull()
  @IsText()
  @ApiPropertyOptional({
    description: 'Tag to specify the type',
    example: 'indoor',
  })
  tag?: string;
}
