import { ApiProperty } from '@nestjs/swagger';
import { IsString, Length } from 'class-validator';

export class CreateVarietyDto {
  @IsString()
  @Length(1, 100)
  @ApiProperty({ description: 'The name of the variety', example: 'Monstera deliciosa' })
  name!: string;
}
