import { Injectable } from '@nestjs/common';
import { ApiError, type JsonPage, type PageQueryDto } from 'durable-rest';
import type { NewWateringDto, WateringDto } from './watering.dto.js';
import type { Watering } from './watering.entity.js';
import { WateringErrors } from './waterings.errors.js';
import { WateringsRepository } from './waterings.repository.js';
import { WateringsSettings } from './waterings.settings.js';

@Injectable()
export class WateringsService {
  constructor(
    private readonly waterings: WateringsRepository,
    private readonly settings: WateringsSettings,
  ) {}

  async create(watering: NewWateringDto): Promise<WateringDto> {
    const minutes = Math.min(watering.minutes, this.settings.WATERINGS_MAX_MINUTES);
    const createdAt = new Date().toISOString();
    return toDto(await this.waterings.add({ ...watering, minutes, createdAt }));
  }

  list(query: PageQueryDto): Promise<JsonPage> {
    return this.waterings.page({ sort: 'day', ...query });
  }

  /** @throws ApiError if there is none */
  async read(id: string): Promise<WateringDto> {
    const watering = await this.waterings.find(id);
    if (watering === undefined) throw new ApiError(WateringErrors.WATERING_NOT_FOUND);
    return toDto(watering);
  }

  /** @throws ApiError if there is none */
  async remove(id: string): Promise<void> {
    const wasThere = await this.waterings.remove(id);
    if (!wasThere) throw new ApiError(WateringErrors.WATERING_NOT_FOUND);
  }
}

function toDto(watering: Watering): WateringDto {
  const { id, plantId, day, litres, method, minutes, isPlanned, createdAt } = watering;
  const shown = { id, day, litres, method, minutes, isPlanned, createdAt };
  const dto: WateringDto = { ...shown, plantId: BigInt(plantId) };
  if (watering.note !== null) dto.note = watering.note;
  if (watering.readings !== null) dto.readings = watering.readings;
  return dto;
}
