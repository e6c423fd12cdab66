import { ApiSchema } from '@nestjs/swagger';
import { NewPlantingDto } from './new-planting.dto.js';

/** What is stored of a planting is what it was created with. */
@ApiSchema({ name: 'StoredPlanting' })
export class StoredPlantingDto extends NewPlantingDto {}
