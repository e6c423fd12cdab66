import { ApiSchema } from '@nestjs/swagger';
import { NewPlantingDto } from './new-planting.dto.js';

/** A planting is stored with the members that it was created with. */
@ApiSchema({ name: 'StoredPlanting' })
export class StoredPlantingDto extends NewPlantingDto {}
