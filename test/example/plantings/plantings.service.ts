import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Plant } from '../../../src/modules/plants/plant.entity.js';
import {
  type JsonPage,
  REMOVE,
  type RowInput,
} from '../../../src/platform/database/batched-repository.js';
import { ApiError } from '../../../src/platform/errors/api-error.js';
import { makeEtag, type Representation } from '../../../src/platform/rest/etag.js';
import { applyMergePatch } from '../../../src/platform/rest/merge-patch.js';
import type { Preconditions } from '../../../src/platform/rest/preconditions.js';
import type { LabelDto, ListLabelsDto } from './dto/label.dto.js';
import type { ListPlantingsDto } from './dto/list-plantings.dto.js';
import type { MoveDto } from './dto/move.dto.js';
import type { NewPlantingDto } from './dto/new-planting.dto.js';
import type { PlantingKeyDto } from './dto/planting-key.dto.js';
import type { PlantingPatchDto } from './dto/planting-patch.dto.js';
import { PlantingDto } from './dto/planting.dto.js';
import { Planting } from './planting.entity.js';
import { PlantingErrors } from './plantings.errors.js';
import { PlantingsRepository } from './plantings.repository.js';

const MAX_QUANTITY = 2 ** 31 - 1;
const EXPORTED_AT_ONCE = 500;

/** A change is on disk when its promise resolves, and every later read sees it. */
@Injectable()
export class PlantingsService {
  constructor(
    private readonly plantings: PlantingsRepository,
    private readonly store: DataSource,
  ) {}

  /** @throws ApiError 409901, 409902, 409904, 50300 */
  async create({ gardenId, plantId, ...planting }: NewPlantingDto): Promise<PlantingDto> {
    const outcome = await this.plantings.create({ gardenId, plantId, ...planting });
    if (outcome === 'identical') throw new ApiError(PlantingErrors.ALREADY_EXISTS);
    if (outcome === 'different') throw new ApiError(PlantingErrors.KEY_IN_USE);
    return planting;
  }

  /** @throws ApiError 404901, 50300 */
  async read(key: PlantingKeyDto): Promise<Representation<NewPlantingDto>> {
    const planting = await this.plantings.find(key);
    if (planting === undefined) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
    return { body: { ...key, ...toDto(planting) }, etag: toEtag(planting) };
  }

  /** @throws ApiError 40003, 50300 */
  list({ gardenId, plantId, plantedOn, ...page }: ListPlantingsDto): Promise<JsonPage> {
    return this.plantings.page(page, { gardenId, plantId, plantedOn });
  }

  /** @throws ApiError 50300 */
  async listLabels({ gardenId, limit }: ListLabelsDto): Promise<LabelDto[]> {
    const found = await this.store
      .getRepository(Planting)
      .createQueryBuilder('planting')
      .innerJoinAndMapOne('planting.plant', Plant, 'plant', 'plant.id = planting.plantId')
      .where({ gardenId })
      .orderBy('planting.plantId')
      .limit(limit)
      .getMany();
    return (found as (Planting & { readonly plant: Plant })[]).map(
      ({ plantId, quantity, plant }) => ({ plantId: BigInt(plantId), name: plant.name, quantity }),
    );
  }

  /** Writes all plantings as CSV (RFC 4180). */
  async *export(): AsyncGenerator<string> {
    yield 'gardenId,plantId,plantedOn,quantity\r\n';
    let after: string | undefined;
    do {
      const { rows, next } = await this.plantings.list({ limit: EXPORTED_AT_ONCE, after });
      for (const { gardenId, plantId, plantedOn, quantity } of rows) {
        yield `${gardenId},${plantId},${plantedOn},${quantity}\r\n`;
      }
      after = next;
    } while (after !== undefined);
  }

  /** @throws ApiError 404901, 409904, 409905, 50300 */
  async move({ plantId, plantedOn, quantity, ...gardens }: MoveDto): Promise<void> {
    const changes = [
      { gardenId: gardens.fromGardenId, more: -quantity },
      { gardenId: gardens.toGardenId, more: quantity },
    ];
    // Always locks the gardens in the same order, so that opposite moves do not wait for each
    // other.
    changes.sort((one, other) => (one.gardenId < other.gardenId ? -1 : 1));
    await this.store.transaction(async (manager) => {
      for (const { gardenId, more } of changes) {
        const key = { gardenId, plantId };
        const decide = (stored: Planting | undefined): RowInput<Planting> => {
          if (stored === undefined && more < 0) {
            throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
          }
          const sum = (stored?.quantity ?? 0) + more;
          if (sum < 0 || sum > MAX_QUANTITY) {
            throw new ApiError(PlantingErrors.QUANTITY_OUT_OF_RANGE);
          }
          return { ...key, plantedOn: stored?.plantedOn ?? plantedOn, quantity: sum };
        };
        await this.plantings.change(key, decide, manager);
      }
    });
  }

  /** Removes the plantings whose quantity is 0. */
  async removeEmpty(): Promise<void> {
    const empty = await this.store.getRepository(Planting).findBy({ quantity: 0 });
    for (const { gardenId, plantId } of empty) {
      const decide = (stored: Planting | undefined): typeof REMOVE | undefined =>
        stored?.quantity === 0 ? REMOVE : undefined;
      await this.plantings.change({ gardenId, plantId }, decide);
    }
  }

  /** @throws ApiError 404901, 409904, 41200, 50300 */
  async replace(
    key: PlantingKeyDto,
    planting: PlantingDto,
    preconditions: Preconditions,
  ): Promise<PlantingDto> {
    const isThere = await this.plantings.replace(
      { ...key, ...planting },
      preconditions.check(toEtag),
    );
    if (!isThere) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
    return planting;
  }

  /** @throws ApiError 40002, 404901, 409904, 41200, 50300 */
  async update(
    key: PlantingKeyDto,
    patch: PlantingPatchDto,
    preconditions: Preconditions,
  ): Promise<PlantingDto> {
    const check = preconditions.check(toEtag);
    const planting = await this.plantings.update(key, (stored) => {
      check?.(stored);
      return { ...key, ...applyMergePatch(PlantingDto, toDto(stored), patch) };
    });
    if (planting === undefined) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
    return toDto(planting);
  }

  /** @throws ApiError 404901, 41200, 50300 */
  async remove(key: PlantingKeyDto, preconditions: Preconditions): Promise<void> {
    const wasThere = await this.plantings.remove(key, preconditions.check(toEtag));
    if (!wasThere) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
  }
}

function toDto({ plantedOn, quantity }: Planting): PlantingDto {
  return { plantedOn, quantity };
}

/** Covers all members that a client can read or replace. */
function toEtag({ plantedOn, quantity }: Planting): string {
  return makeEtag(plantedOn, quantity);
}
