import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsBoolean, IsIn, Min } from 'class-validator';
import {
  type Decimal,
  IsCalendarDate,
  IsDecimal,
  IsInstant,
  IsInt32,
  IsInt64,
  IsJson,
  IsOptionalNotNull,
  IsText,
  IsUuid,
  type JsonText,
} from 'durable-rest';
import { METHODS } from './watering.entity.js';

@ApiSchema({ name: 'NewWatering' })
export class NewWateringDto {
  @IsInt64()
  @ApiProperty({ description: 'The plant', example: 1 })
  plantId!: bigint;

  @IsCalendarDate()
  @ApiProperty({ description: 'The day', example: '2026-05-01' })
  day!: string;

  @IsDecimal(8, 2)
  @ApiProperty({ description: 'How many litres', example: 1.5 })
  litres!: Decimal;

  @IsIn(METHODS)
  @ApiProperty({ description: 'How', example: 'can' })
  method!: (typeof METHODS)[number];

  @IsInt32()
  @Min(0)
  @ApiProperty({ description: 'How long', example: 5 })
  minutes!: number;

  @IsBoolean()
  @ApiProperty({ description: 'Whether it is still to come', example: false })
  isPlanned!: boolean;

  @IsOptionalNotNull()
  @IsText({ maxLength: 1_000 })
  @ApiPropertyOptional({ description: 'A note', example: 'dry' })
  note?: string;

  @IsOptionalNotNull()
  @IsJson()
  @ApiPropertyOptional({ description: 'What a sensor has sent', example: { ph: 6.5 } })
  readings?: JsonText;
}

@ApiSchema({ name: 'Watering' })
export class WateringDto extends NewWateringDto {
  @IsUuid()
  @ApiProperty({ description: 'The id', example: '00000000-0000-4000-8000-000000000001' })
  id!: string;

  @IsInstant()
  @ApiProperty({ description: 'When it was created', example: '2026-05-01T08:00:00.000Z' })
  createdAt!: string;
}
