import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Min } from 'class-validator';
import { IsCalendarDate, IsInt32 } from 'durable-rest';

@ApiSchema({ name: 'Planting' })
export class PlantingDto {
  @IsCalendarDate()
  @ApiProperty({ description: 'When the planting was planted', example: '2026-01-01' })
  plantedOn!: string;

  @IsInt32()
  @Min(0)
  @ApiProperty({ description: 'The quantity of the planting', example: 1 })
  quantity!: number;
}
