import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import {
  ApiError,
  applyMergePatch,
  type BodyLines,
  importLines,
  type ImportResultDto,
  type JsonPage,
  makeEtag,
  type Preconditions,
  type Representation,
  startsWithIgnoringCase,
} from 'durable-rest';
import type { ListPlantsDto } from './dto/list-plants.dto.js';
import {
  type NewPlantDto,
  PlantDto,
  type PlantPatchDto,
  type StoredPlantDto,
} from './dto/plant.dto.js';
import type { Plant } from './plant.entity.js';
import { PlantErrors } from './plants.errors.js';
import { PlantsRepository } from './plants.repository.js';

/** A change is on disk when its promise resolves, and every later read sees it. */
@Injectable()
export class PlantsService {
  constructor(private readonly plants: PlantsRepository) {}

  /** @throws ApiError 40900, 40901, 50300 */
  async create({ id, ...plant }: NewPlantDto): Promise<PlantDto> {
    const outcome = await this.plants.create({ id, ...plant });
    if (outcome === 'identical') throw new ApiError(PlantErrors.ALREADY_EXISTS);
    if (outcome !== 'created') throw new ApiError(PlantErrors.ID_IN_USE);
    return plant;
  }

  /** @throws ApiError 40800, 41500, 50300 */
  import(plants: BodyLines<NewPlantDto>): Promise<ImportResultDto> {
    return importLines(plants, (part) => this.plants.createAll(part), PlantErrors.ID_IN_USE);
  }

  /** @throws ApiError 40401, 50300 */
  async read(id: bigint): Promise<Representation<StoredPlantDto>> {
    const plant = await this.plants.find(id);
    if (plant === undefined) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
    return { body: { id, ...toDto(plant) }, etag: toEtag(plant) };
  }

  /**
   * @param manager that of a transaction, which then keeps the plant from being removed
   * @throws ApiError 40401, 50300
   */
  async assertExists(id: bigint, manager?: EntityManager): Promise<void> {
    const plant = await (manager ? this.plants.keep(id, manager) : this.plants.find(id));
    if (plant === undefined) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
  }

  /** @throws ApiError 40003, 50300 */
  list(query: ListPlantsDto): Promise<JsonPage> {
    const { name, tag } = query;
    return this.plants.page(
      { sort: name === undefined ? 'id' : 'name', ...query },
      { tag, name: name === undefined ? undefined : startsWithIgnoringCase(name) },
    );
  }

  /** @throws ApiError 40401, 41200, 50300 */
  async replace(id: bigint, plant: PlantDto, preconditions: Preconditions): Promise<PlantDto> {
    const isThere = await this.plants.replace({ id, ...plant }, preconditions.check(toEtag));
    if (!isThere) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
    return plant;
  }

  /** @throws ApiError 40002, 40401, 41200, 50300 */
  async update(id: bigint, patch: PlantPatchDto, preconditions: Preconditions): Promise<PlantDto> {
    const check = preconditions.check(toEtag);
    const plant = await this.plants.update(id, (stored) => {
      check?.(stored);
      return { id, ...applyMergePatch(PlantDto, toDto(stored), patch) };
    });
    if (plant === undefined) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
    return toDto(plant);
  }

  /** @throws ApiError 40401, 41200, 50300 */
  async remove(id: bigint, preconditions: Preconditions): Promise<void> {
    const wasThere = await this.plants.remove(id, preconditions.check(toEtag));
    if (!wasThere) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
  }
}

function toDto({ name, tag }: Plant): PlantDto {
  return { name, ...(tag !== null && { tag }) };
}

/** Covers all members that a client can read or replace. */
function toEtag({ name, tag }: Plant): string {
  return makeEtag(name, tag);
}
