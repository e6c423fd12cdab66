import { Injectable } from '@nestjs/common';
import type { ChangeOutcome, JsonPage } from '../../platform/database/batched-repository.js';
import { ApiError } from '../../platform/errors/api-error.js';
import { entityTagOf } from '../../platform/rest/entity-tag.js';
import type { Preconditions } from '../../platform/rest/preconditions.js';
import type { ListPlantsDto } from './dto/list-plants.dto.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';
import type { PlantDto } from './dto/plant.dto.js';
import type { Plant } from './plant.entity.js';
import { PlantErrors } from './plants.errors.js';
import { PlantsRepository } from './plants.repository.js';

@Injectable()
export class PlantsService {
  constructor(private readonly plants: PlantsRepository) {}

  /**
   * Resolves once the plant is on disk.
   *
   * @throws ApiError 40900, 40901, 50300
   */
  async create({ id, name, tag }: NewPlantDto): Promise<PlantDto> {
    const outcome = await this.plants.create({ id: String(id), name, tag: tag ?? null });
    if (outcome === 'identical') throw new ApiError(PlantErrors.ALREADY_EXISTS);
    if (outcome === 'different') throw new ApiError(PlantErrors.ID_IN_USE);
    return tag === undefined ? { name } : { name, tag };
  }

  /** @throws ApiError 40401, 50300 */
  async find(id: bigint): Promise<Plant> {
    const plant = await this.plants.find(id);
    if (plant === undefined) throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
    return plant;
  }

  /**
   * Plants in the order of their ids.
   *
   * @throws ApiError 50300
   */
  list({ limit, after, tag }: ListPlantsDto): Promise<JsonPage> {
    return this.plants.page({ limit, after, where: tag === undefined ? {} : { tag } });
  }

  /**
   * Resolves once the change is on disk.
   *
   * @throws ApiError 40401, 41200, 50300
   */
  async replace(
    id: bigint,
    { name, tag }: PlantDto,
    preconditions: Preconditions,
  ): Promise<PlantDto> {
    const plant = { id: String(id), name, tag: tag ?? null };
    await this.change(id, preconditions, (expected) => this.plants.replace(plant, expected));
    return tag === undefined ? { name } : { name, tag };
  }

  /**
   * Resolves once the removal is on disk.
   *
   * @throws ApiError 40401, 41200, 50300
   */
  async remove(id: bigint, preconditions: Preconditions): Promise<void> {
    await this.change(id, preconditions, (expected) => this.plants.remove(id, expected));
  }

  private async change(
    id: bigint,
    preconditions: Preconditions,
    perform: (expected?: Plant) => Promise<ChangeOutcome>,
  ): Promise<void> {
    const outcome = await preconditions.change(() => this.find(id), etagOf, perform);
    if (outcome === 'missing') throw new ApiError(PlantErrors.PLANT_NOT_FOUND);
  }
}

/** Changes with everything that a client can read or replace. */
export function etagOf({ name, tag }: Plant): string {
  return entityTagOf(name, tag);
}
