import { ApiProperty, ApiSchema } from '@nestjs/swagger';

@ApiSchema({ name: 'Error' })
export class ErrorDto {
  @ApiProperty({
    description: 'Numeric error value',
    type: 'integer',
    format: 'int32',
  })
  error!: number;

  @ApiProperty({ description: 'Text message' })
  message!: string;
}
