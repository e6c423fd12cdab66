import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { IsUuid } from '../../../../src/platform/validation/types.decorators.js';
import { GardenDto } from './garden.dto.js';

/** A garden with its generated id. */
@ApiSchema({ name: 'StoredGarden' })
export class StoredGardenDto extends GardenDto {
  @IsUuid()
  @ApiProperty({
    description: 'Identification of the garden',
    example: '0190b5c8-7d0a-7c3e-9b2a-5f4e3d2c1b0a',
  })
  id!: string;
}
