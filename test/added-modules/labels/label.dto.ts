import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsInt64, IsText } from 'durable-rest';

export class LabelCodeDto {
  @IsText({ minLength: 1, maxLength: 64 })
  @ApiProperty({ description: 'The code on the label', example: 'a-1' })
  code!: string;
}

@ApiSchema({ name: 'Label' })
export class LabelDto extends LabelCodeDto {
  @IsInt64()
  @ApiProperty({ description: 'The plant', example: 1 })
  plantId!: bigint;
}
