import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { Decimal } from '../../../../src/platform/json/decimal.js';
import { JsonText } from '../../../../src/platform/json/json-text.js';
import {
  IsDecimal,
  IsInstant,
  IsJson,
  IsOptionalNotNull,
  IsText,
} from '../../../../src/platform/validation/types.decorators.js';
import { GARDEN_KINDS, type GardenKind } from '../garden.entity.js';

@ApiSchema({ name: 'Garden' })
export class GardenDto {
  @IsText({ maxLength: 200 })
  @ApiProperty({ description: 'The name of the garden', example: '1' })
  name!: string;

  @IsIn(GARDEN_KINDS)
  @ApiProperty({ description: 'The kind of the garden', example: 'flower' })
  kind!: GardenKind;

  @IsDecimal(12, 2)
  @ApiProperty({ description: 'The area of the garden', example: 1.5 })
  area!: Decimal;

  @IsInstant()
  @ApiProperty({ description: 'When the garden was opened', example: '2026-01-01T10:00:00.000Z' })
  openedAt!: string;

  @IsOptionalNotNull()
  @IsText({ maxLength: 200 })
  @ApiPropertyOptional({ description: 'The note of the garden', example: '1' })
  note?: string;

  @IsOptionalNotNull()
  @IsJson()
  @ApiPropertyOptional({ description: 'The details of the garden', example: { n: 1 } })
  details?: JsonText;
}
