import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';

export class NewBedDto {
  @IsString()
  @Length(1, 100)
  name!: string;

  @IsInt()
  @Min(1)
  @Max(1_000)
  room!: number;
}

export class PlantDto {
  @IsInt()
  @Min(1)
  @Max(1_000)
  plants!: number;
}

export class ListBedsDto {
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  limit = 20;

  /** The `next` of the page before. */
  @IsOptional()
  @IsString()
  after?: string;
}
