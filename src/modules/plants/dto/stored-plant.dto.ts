import { ApiSchema } from '@nestjs/swagger';
import { NewPlantDto } from './new-plant.dto.js';

/** A plant is stored with the members that it was created with. */
@ApiSchema({ name: 'StoredPlant' })
export class StoredPlantDto extends NewPlantDto {}
