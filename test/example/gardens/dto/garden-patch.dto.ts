import { ApiSchema } from '@nestjs/swagger';
import { MergePatch } from '../../../../src/platform/rest/merge-patch.js';
import { GardenDto } from './garden.dto.js';

/** A JSON merge patch (RFC 7396): null removes note and details. */
@ApiSchema({ name: 'GardenPatch' })
export class GardenPatchDto extends MergePatch(GardenDto) {}
