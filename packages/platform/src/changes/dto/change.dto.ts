import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';

@ApiSchema({ name: 'Change' })
export class ChangeDto {
  @ApiProperty({
    description: 'The cursor to continue with after this change',
    example: '42.9f86d081884c',
  })
  cursor!: string;

  @ApiProperty({
    description: 'What happened: the kind of the row, and `created`, `replaced` or `removed`',
    pattern: String.raw`^[a-z-]+\.(created|replaced|removed)$`,
    example: 'plant.created',
  })
  type!: string;

  @ApiProperty({
    description: 'The key of the row',
    oneOf: [{ type: 'integer', format: 'int64' }, { type: 'string' }, { type: 'object' }],
    example: 7,
  })
  id!: unknown;

  @ApiProperty({ description: 'When it happened', format: 'date-time' })
  at!: string;

  @ApiPropertyOptional({
    description: 'The row as a page shows it; absent for a removed row',
    type: 'object',
    additionalProperties: true,
    example: { id: 7, name: 'Monstera' },
  })
  data?: object;
}
