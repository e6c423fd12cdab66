import { Injectable } from '@nestjs/common';
import type { JsonPage } from '../../../src/platform/database/batched-repository.js';
import { ApiError } from '../../../src/platform/errors/api-error.js';
import { makeEtag, type Representation } from '../../../src/platform/rest/etag.js';
import { applyMergePatch } from '../../../src/platform/rest/merge-patch.js';
import type { Preconditions } from '../../../src/platform/rest/preconditions.js';
import type { ListPlantingsDto } from './dto/list-plantings.dto.js';
import type { NewPlantingDto } from './dto/new-planting.dto.js';
import type { PlantingKeyDto } from './dto/planting-key.dto.js';
import type { PlantingPatchDto } from './dto/planting-patch.dto.js';
import { PlantingDto } from './dto/planting.dto.js';
import type { StoredPlantingDto } from './dto/stored-planting.dto.js';
import type { Planting } from './planting.entity.js';
import { PlantingErrors } from './plantings.errors.js';
import { PlantingsRepository } from './plantings.repository.js';

/** A promise that resolves here means that the change is on disk, and every later read sees it. */
@Injectable()
export class PlantingsService {
  constructor(private readonly plantings: PlantingsRepository) {}

  /** @throws ApiError 40920, 40921, 40922, 40923, 50300 */
  async create({ gardenId, plantId, ...planting }: NewPlantingDto): Promise<PlantingDto> {
    const outcome = await this.plantings.create({ gardenId, plantId, ...planting });
    if (outcome === 'identical') throw new ApiError(PlantingErrors.ALREADY_EXISTS);
    if (outcome === 'different') throw new ApiError(PlantingErrors.KEY_IN_USE);
    return planting;
  }

  /** @throws ApiError 40420, 50300 */
  async read(key: PlantingKeyDto): Promise<Representation<StoredPlantingDto>> {
    const planting = await this.plantings.find(key);
    if (planting === undefined) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
    return { body: { ...key, ...toDto(planting) }, etag: etagOf(planting) };
  }

  /** @throws ApiError 40003, 50300 */
  list(query: ListPlantingsDto): Promise<JsonPage> {
    return this.plantings.page(query, {
      gardenId: query.gardenId,
      plantId: query.plantId,
      plantedOn: query.plantedOn,
    });
  }

  /** @throws ApiError 40420, 40922, 40923, 41200, 50300 */
  async replace(
    key: PlantingKeyDto,
    planting: PlantingDto,
    preconditions: Preconditions,
  ): Promise<PlantingDto> {
    const isThere = await this.plantings.replace(
      { ...key, ...planting },
      preconditions.check(etagOf),
    );
    if (!isThere) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
    return planting;
  }

  /** @throws ApiError 40002, 40420, 40922, 40923, 41200, 50300 */
  async update(
    key: PlantingKeyDto,
    patch: PlantingPatchDto,
    preconditions: Preconditions,
  ): Promise<PlantingDto> {
    const check = preconditions.check(etagOf);
    const planting = await this.plantings.update(key, (stored) => {
      check?.(stored);
      return { ...key, ...applyMergePatch(PlantingDto, toDto(stored), patch) };
    });
    if (planting === undefined) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
    return toDto(planting);
  }

  /** @throws ApiError 40420, 41200, 50300 */
  async remove(key: PlantingKeyDto, preconditions: Preconditions): Promise<void> {
    const wasThere = await this.plantings.remove(key, preconditions.check(etagOf));
    if (!wasThere) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
  }
}

function toDto({ plantedOn, quantity }: Planting): PlantingDto {
  return { plantedOn, quantity };
}

/** Changes with everything that a client can read or replace. */
function etagOf({ plantedOn, quantity }: Planting): string {
  return makeEtag(plantedOn, quantity);
}
