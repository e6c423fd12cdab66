import { Injectable } from '@nestjs/common';
import { ApiError } from '../errors/api-error.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';
import type { PlantDto } from './dto/plant.dto.js';
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
}
