import { Injectable } from '@nestjs/common';
import type { JsonPage } from '../../../src/platform/database/batched-repository.js';
import { ApiError } from '../../../src/platform/errors/api-error.js';
import { makeEtag, type Representation } from '../../../src/platform/rest/etag.js';
import { applyMergePatch } from '../../../src/platform/rest/merge-patch.js';
import type { Preconditions } from '../../../src/platform/rest/preconditions.js';
import type { GardenPatchDto } from './dto/garden-patch.dto.js';
import { GardenDto } from './dto/garden.dto.js';
import type { ListGardensDto } from './dto/list-gardens.dto.js';
import type { StoredGardenDto } from './dto/stored-garden.dto.js';
import type { Garden } from './garden.entity.js';
import { GardenErrors } from './gardens.errors.js';
import { GardensRepository } from './gardens.repository.js';

/** A change is on disk when its promise resolves, and every later read sees it. */
@Injectable()
export class GardensService {
  constructor(private readonly gardens: GardensRepository) {}

  /** @throws ApiError 409801, 50300 */
  async create(garden: GardenDto): Promise<StoredGardenDto> {
    const stored = await this.gardens.add(garden);
    return { id: stored.id, ...toDto(stored) };
  }

  /** @throws ApiError 404801, 50300 */
  async read(id: string): Promise<Representation<StoredGardenDto>> {
    const garden = await this.gardens.find(id);
    if (garden === undefined) throw new ApiError(GardenErrors.GARDEN_NOT_FOUND);
    return { body: { id, ...toDto(garden) }, etag: toEtag(garden) };
  }

  /** @throws ApiError 40003, 50300 */
  list(query: ListGardensDto): Promise<JsonPage> {
    return this.gardens.page(query, { name: query.name, area: query.area });
  }

  /** @throws ApiError 404801, 409801, 41200, 50300 */
  async replace(id: string, garden: GardenDto, preconditions: Preconditions): Promise<GardenDto> {
    const isThere = await this.gardens.replace({ id, ...garden }, preconditions.check(toEtag));
    if (!isThere) throw new ApiError(GardenErrors.GARDEN_NOT_FOUND);
    return garden;
  }

  /** @throws ApiError 40002, 404801, 409801, 41200, 50300 */
  async update(
    id: string,
    patch: GardenPatchDto,
    preconditions: Preconditions,
  ): Promise<GardenDto> {
    const check = preconditions.check(toEtag);
    const garden = await this.gardens.update(id, (stored) => {
      check?.(stored);
      return { id, ...applyMergePatch(GardenDto, toDto(stored), patch) };
    });
    if (garden === undefined) throw new ApiError(GardenErrors.GARDEN_NOT_FOUND);
    return toDto(garden);
  }

  /** @throws ApiError 404801, 409802, 41200, 50300 */
  async remove(id: string, preconditions: Preconditions): Promise<void> {
    const wasThere = await this.gardens.remove(id, preconditions.check(toEtag));
    if (!wasThere) throw new ApiError(GardenErrors.GARDEN_NOT_FOUND);
  }
}

function toDto({ name, kind, area, openedAt, note, details }: Garden): GardenDto {
  return {
    name,
    kind,
    area,
    openedAt,
    ...(note !== null && { note }),
    ...(details !== null && { details }),
  };
}

/** Covers all members that a client can read or replace. */
function toEtag({ name, kind, area, openedAt, note, details }: Garden): string {
  return makeEtag(name, kind, area, openedAt, note, details);
}
