import { ApiSchema } from '@nestjs/swagger';
import { MergePatch } from 'durable-rest';
import { PlantDto } from './plant.dto.js';

/** A JSON merge patch (RFC 7396): null removes the tag. */
@ApiSchema({ name: 'PlantPatch' })
export class PlantPatchDto extends MergePatch(PlantDto) {}
