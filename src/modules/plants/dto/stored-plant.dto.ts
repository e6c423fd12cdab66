import { ApiSchema } from '@nestjs/swagger';
import { NewPlantDto } from './new-plant.dto.js';

/** What is stored of a plant is what it was created with. */
@ApiSchema({ name: 'StoredPlant' })
export class StoredPlantDto extends NewPlantDto {}
