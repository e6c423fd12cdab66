import { ApiSchema, IntersectionType } from '@nestjs/swagger';
import { PlantingDto } from './planting.dto.js';
import { PlantingKeyDto } from './planting-key.dto.js';

/** A planting is created with all the members that are stored. */
@ApiSchema({ name: 'NewPlanting' })
export class NewPlantingDto extends IntersectionType(PlantingKeyDto, PlantingDto) {}
