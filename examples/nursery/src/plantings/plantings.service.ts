import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Variety } from '../varieties/variety.entity.js';
import {
  ApiError,
  applyMergePatch,
  type JsonPage,
  makeEtag,
  type Preconditions,
  REMOVE,
  type Representation,
  type RowInput,
} from 'durable-rest';
import { writeCsv } from '../csv.js';
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

/** A change is on disk when its promise resolves, and every later read sees it. */
@Injectable()
export class PlantingsService {
  constructor(
    private readonly plantings: PlantingsRepository,
    private readonly store: DataSource,
  ) {}

  /** @throws ApiError 409901, 409902, 409904, 50300 */
  async create({ gardenId, varietyId, ...planting }: NewPlantingDto): Promise<PlantingDto> {
    const outcome = await this.plantings.create({ gardenId, varietyId, ...planting });
    if (outcome === 'identical') throw new ApiError(PlantingErrors.ALREADY_EXISTS);
    if (outcome !== 'created') throw new ApiError(PlantingErrors.KEY_IN_USE);
    return planting;
  }

  /** @throws ApiError 404901, 50300 */
  async read(key: PlantingKeyDto): Promise<Representation<NewPlantingDto>> {
    const planting = await this.plantings.find(key);
    if (planting === undefined) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
    return { body: { ...key, ...toDto(planting) }, etag: toEtag(planting) };
  }

  /** @throws ApiError 40003, 50300 */
  list({ gardenId, varietyId, plantedOn, ...page }: ListPlantingsDto): Promise<JsonPage> {
    return this.plantings.page(page, { gardenId, varietyId, plantedOn });
  }

  /** @throws ApiError 50300 */
  async listLabels({ gardenId, limit }: ListLabelsDto): Promise<LabelDto[]> {
    const found = await this.store
      .getRepository(Planting)
      .createQueryBuilder('planting')
      .innerJoinAndMapOne('planting.variety', Variety, 'variety', 'variety.id = planting.varietyId')
      .where({ gardenId })
      .orderBy('planting.varietyId')
      .limit(limit)
      .getMany();
    return (found as (Planting & { readonly variety: Variety })[]).map(
      ({ varietyId, quantity, variety }) => ({ varietyId, name: variety.name, quantity }),
    );
  }

  /** Writes all plantings as CSV. */
  export(): AsyncIterable<string> {
    return writeCsv(this.plantings, ['gardenId', 'varietyId', 'plantedOn', 'quantity']);
  }

  /** @throws ApiError 404901, 409904, 409905, 50300 */
  async move({ varietyId, plantedOn, quantity, ...gardens }: MoveDto): Promise<void> {
    const changes = [
      { gardenId: gardens.fromGardenId, more: -quantity },
      { gardenId: gardens.toGardenId, more: quantity },
    ];
    // Always locks the gardens in the same order, so that opposite moves do not wait for each
    // other.
    changes.sort((one, other) => (one.gardenId < other.gardenId ? -1 : 1));
    await this.store.transaction(async (manager) => {
      for (const { gardenId, more } of changes) {
        const key = { gardenId, varietyId };
        const decide = (stored: Planting | undefined): RowInput<Planting> => {
          const planting = stored ?? { ...key, plantedOn, quantity: 0 };
          if (stored === undefined && more < 0) {
            throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
          }
          return addQuantity(planting, more);
        };
        await this.plantings.change(key, decide, manager);
      }
    });
  }

  /**
   * Takes plants away as a part of a transaction.
   *
   * @throws ApiError 404901, 409905
   * @throws StoreUnavailableError
   */
  async take(key: PlantingKeyDto, quantity: number, manager: EntityManager): Promise<void> {
    const decide = (stored: Planting | undefined): RowInput<Planting> => {
      if (stored === undefined) throw new ApiError(PlantingErrors.PLANTING_NOT_FOUND);
      return addQuantity(stored, -quantity);
    };
    await this.plantings.change(key, decide, manager);
  }

  /** Removes the plantings whose quantity is 0. */
  async removeEmpty(): Promise<void> {
    const empty = await this.store.getRepository(Planting).findBy({ quantity: 0 });
    for (const { gardenId, varietyId } of empty) {
      const decide = (stored: Planting | undefined): typeof REMOVE | undefined =>
        stored?.quantity === 0 ? REMOVE : undefined;
      await this.plantings.change({ gardenId, varietyId }, decide);
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

/** @throws ApiError 409905 */
function addQuantity(planting: Planting, more: number): Planting {
  const quantity = planting.quantity + more;
  if (quantity < 0 || quantity > MAX_QUANTITY) {
    throw new ApiError(PlantingErrors.QUANTITY_OUT_OF_RANGE);
  }
  return { ...planting, quantity };
}

function toDto({ plantedOn, quantity }: Planting): PlantingDto {
  return { plantedOn, quantity };
}

/** Covers all members that a client can read or replace. */
function toEtag({ plantedOn, quantity }: Planting): string {
  return makeEtag(plantedOn, quantity);
}
