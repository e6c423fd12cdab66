import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsBoolean, Min } from 'class-validator';
import {
  type Decimal,
  IsDecimal,
  IsInstant,
  IsInt32,
  IsJson,
  IsOptionalNotNull,
  IsUuid,
  type JsonText,
} from 'durable-rest';

@ApiSchema({ name: 'NewSale' })
export class NewSaleDto {
  @IsUuid()
  @ApiProperty({
    description: 'The id of the garden from which the plants are taken',
    example: '00000000-0000-4000-8000-000000000001',
  })
  gardenId!: string;

  @IsInt32()
  @ApiProperty({ description: 'The id of the variety', example: 1 })
  varietyId!: number;

  @IsInt32()
  @Min(1)
  @ApiProperty({ description: 'How many are sold', example: 2 })
  quantity!: number;

  @IsDecimal(12, 2)
  @Min(0)
  @ApiProperty({ description: 'The price of all of them together', example: 24.9 })
  price!: Decimal;

  @IsBoolean()
  @ApiProperty({ description: 'Whether the sale is paid', example: true })
  isPaid!: boolean;

  @IsInstant()
  @ApiProperty({ description: 'When they were sold', example: '2026-11-22T10:00:00Z' })
  soldAt!: string;

  @IsOptionalNotNull()
  @IsJson()
  @ApiPropertyOptional({ description: 'Whatever the till adds', example: { till: 2 } })
  details?: JsonText;
}
