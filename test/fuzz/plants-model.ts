import { makeEtag } from '../../src/platform/rest/etag.js';
import type { NewPlant } from './body.js';
import type { Condition } from './conditions.js';
import { SortedIds } from './sorted-ids.js';

interface Entry {
  /** Stands for the name and the tag, and is smaller. */
  readonly etag: string;
  /** undefined without a tag. */
  readonly tagDigest: string | undefined;
}

export interface ListQuery {
  readonly limit: number;
  readonly after?: bigint | undefined;
  readonly tag?: string | undefined;
}

export interface StoredPlant {
  readonly id: bigint;
  readonly etag: string;
}

/** A page of plants, and the id after which the next one begins. */
export interface Page {
  readonly plants: readonly StoredPlant[];
  readonly next: bigint | undefined;
}

/** What the store must hold: of each plant its id, and digests of the rest to stay small. */
export class PlantsModel {
  private readonly entries = new Map<bigint, Entry>();
  private readonly ids = new SortedIds();
  private readonly idsByTag = new Map<string, SortedIds>();
  private readonly turns = new Map<bigint, Promise<void>>();
  private alone: Promise<void> | undefined;

  get size(): number {
    return this.entries.size;
  }

  /** The status that a create must get, as its code if it is a conflict. */
  outcomeOf(plant: NewPlant): 200 | 40900 | 40901 {
    const known = this.entries.get(plant.id);
    if (known === undefined) return 200;
    return known.etag === etagOf(plant.name, plant.tag) ? 40901 : 40900;
  }

  /** The code of the error with which a request for a plant is refused, if it must be. */
  refusalOf(id: bigint, conditions: readonly Condition[]): 40401 | 41200 | undefined {
    if (!this.entries.has(id)) return 40401;
    return conditions.every(({ allowsChange }) => allowsChange) ? undefined : 41200;
  }

  etagOf(id: bigint): string | undefined {
    return this.entries.get(id)?.etag;
  }

  /** It was created, or replaced. */
  stored({ id, name, tag }: NewPlant): void {
    this.removed(id);
    const tagDigest = tag === undefined ? undefined : makeEtag(tag);
    this.entries.set(id, { etag: etagOf(name, tag), tagDigest });
    this.ids.add(id);
    if (tagDigest === undefined) return;
    const ids = this.idsByTag.get(tagDigest) ?? new SortedIds();
    this.idsByTag.set(tagDigest, ids);
    ids.add(id);
  }

  removed(id: bigint): void {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    this.entries.delete(id);
    this.ids.delete(id);
    this.idsByTag.get(entry.tagDigest ?? '')?.delete(id);
  }

  holds(id: bigint, name: string, tag: string | undefined): boolean {
    return this.entries.get(id)?.etag === etagOf(name, tag);
  }

  page({ limit, after, tag }: ListQuery): Page {
    const all = tag === undefined ? this.ids : this.idsByTag.get(makeEtag(tag));
    const ids = all?.after(after, limit + 1) ?? [];
    const shown = ids.slice(0, limit);
    const plants = shown.map((id) => ({ id, etag: this.etagOf(id) ?? '' }));
    return { plants, next: ids.length > limit ? shown.at(-1) : undefined };
  }

  /** Runs the work once no other work with this id runs, so that its outcome is known. */
  async inTurn<T>(id: bigint, work: () => Promise<T>): Promise<T> {
    for (;;) {
      const before = this.alone ?? this.turns.get(id);
      if (before === undefined) break;
      await before;
    }
    const result = work();
    this.turns.set(id, settled(result));
    try {
      return await result;
    } finally {
      this.turns.delete(id);
    }
  }

  /** Runs the work once no other work with any id runs. */
  async inTurnOfAll<T>(work: () => Promise<T>): Promise<T> {
    while (this.alone !== undefined) await this.alone;
    const result = Promise.all(this.turns.values()).then(work);
    this.alone = settled(result);
    try {
      return await result;
    } finally {
      this.alone = undefined;
    }
  }
}

/** The service's own ETag, which is that of the same plant on every engine. */
export function etagOf(name: string, tag: string | undefined): string {
  return makeEtag(name, tag ?? null);
}

function settled(result: Promise<unknown>): Promise<void> {
  return result.then(
    () => undefined,
    () => undefined,
  );
}
