import type { NewPlant } from './body.js';

/** What the store must hold: of each plant its id, and a digest of the rest to stay small. */
export class PlantsModel {
  private readonly digests = new Map<bigint, number>();
  private readonly turns = new Map<bigint, Promise<void>>();

  get size(): number {
    return this.digests.size;
  }

  /** The status that a create must get, as its code if it is a conflict. */
  outcomeOf(plant: NewPlant): 200 | 40900 | 40901 {
    const known = this.digests.get(plant.id);
    if (known === undefined) return 200;
    return known === digestOf(plant.name, plant.tag) ? 40901 : 40900;
  }

  created(plant: NewPlant): void {
    this.digests.set(plant.id, digestOf(plant.name, plant.tag));
  }

  holds(id: bigint, name: string, tag: string | undefined): boolean {
    return this.digests.get(id) === digestOf(name, tag);
  }

  /** Runs the work once no other work with this id runs, so that its outcome is known. */
  async inTurn<T>(id: bigint, work: () => Promise<T>): Promise<T> {
    for (;;) {
      const before = this.turns.get(id);
      if (before === undefined) break;
      await before;
    }
    const result = work();
    this.turns.set(
      id,
      result.then(
        () => undefined,
        () => undefined,
      ),
    );
    try {
      return await result;
    } finally {
      this.turns.delete(id);
    }
  }
}

/** FNV-1a over the UTF-16 code units, the absence of a tag apart from every tag. */
function digestOf(name: string, tag: string | undefined): number {
  const text = tag === undefined ? name : `${name}\0${tag}`;
  let digest = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    digest = Math.imul(digest ^ text.charCodeAt(index), 0x01000193);
  }
  return digest >>> 0;
}
