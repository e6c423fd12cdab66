import { ApiSchema } from '@nestjs/swagger';
import { MergePatch } from 'durable-rest';
import { PlantingDto } from './planting.dto.js';

/** A JSON merge patch (RFC 7396): no member can be removed. */
@ApiSchema({ name: 'PlantingPatch' })
export class PlantingPatchDto extends MergePatch(PlantingDto) {}
