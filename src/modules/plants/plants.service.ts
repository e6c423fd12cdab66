import { Injectable } from '@nestjs/common';
import type { JsonPage } from '../../platform/database/batched-repository.js';
import { ApiError } from '../../platform/errors/api-error.js';
import { makeEtag, type Representation } from '../../platform/rest/etag.js';
import type { Preconditions } from '../../platform/rest/preconditions.js';
import type { ListPlantsDto } from './dto/list-plants.dto.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';
import type { PlantDto } from './dto/plant.dto.js';
import type { StoredPlantDto } from './dto/stored-plant.dto.js';
import type { Plant } from './plant.entity.js';
import { PlantErrors } from './plants.errors.js';
import { PlantsRepository } from './plants.repository.js';

/** A promise that resolves here means that the change is on disk, and every later read sees it. */
@Injectable()
export class PlantsService {
  constructor(private readonly plants: PlantsRepository) {}

  /** @throws ApiError 40900, 40901, 50300 */
  async create({ id, name, tag }: NewPlantDto): Promise<PlantDto> {
    const outcome = await this.plants.create({ id, name, tag });
    if (outcome === 'identical') throw new ApiError(PlantErrors.ALREADY_EXISTS);
    if (outcome === 'different') throw new ApiError(PlantErrors.ID_IN_USE);
    return tag === undefined ? { name } : { name, tag };
  }

  /** @throws ApiError 40401, 50300 */
  async read(id: bigint): Promise<Representation<StoredPlantDto>> {
    const plant = await this.plants.find(id);
    if (plant === undefined) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
    return { body: toDto(plant), etag: etagOf(plant) };
  }

  /**
   * Plants in the order of their ids.
   *
   * @throws ApiError 50300
   */
  list({ limit, after, ...where }: ListPlantsDto): Promise<JsonPage> {
    return this.plants.page({ limit, after, where });
  }

  /** @throws ApiError 40401, 41200, 50300 */
  async replace(id: bigint, plant: PlantDto, preconditions: Preconditions): Promise<PlantDto> {
    const { name, tag } = plant;
    const isThere = await this.plants.replace({ id, name, tag }, preconditions.check(etagOf));
    if (!isThere) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
    return plant;
  }

  /** @throws ApiError 40401, 41200, 50300 */
  async remove(id: bigint, preconditions: Preconditions): Promise<void> {
    const wasThere = await this.plants.remove(id, preconditions.check(etagOf));
    if (!wasThere) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
  }
}

function toDto({ id, name, tag }: Plant): StoredPlantDto {
  return tag === null ? { id: BigInt(id), name } : { id: BigInt(id), name, tag };
}

/** Changes with everything that a client can read or replace. */
function etagOf({ name, tag }: Plant): string {
  return makeEtag(name, tag);
}
