import type { NewPlant } from '../../support/plant-requests.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { forEachRow } from '../../support/stored-rows.js';

/**
 * Records the plants that were sent and acknowledged, and so determines the expected store after a
 * crash.
 */
export class CrashLedger {
  private readonly sent: NewPlant[] = [];
  private readonly sentById = new Map<bigint, NewPlant[]>();
  /** Acknowledged or found after a crash: they must stay exactly as they are. */
  private readonly settled = new Map<bigint, NewPlant>();
  /** The plants that no later 200 may create again. */
  private readonly created = new Set<bigint>();
  /** Refused because a different plant has the id. */
  private refused: NewPlant[] = [];
  private readonly unanswered = new Set<NewPlant>();

  constructor(private readonly random: SeededRandom) {}

  /**
   * Returns the plant to send next: a new one, one that a crash left without an answer, or a
   * conflict.
   */
  next(): NewPlant {
    const { random, sent } = this;
    const [retry] = this.unanswered;
    if (retry !== undefined) {
      this.unanswered.delete(retry);
      return retry;
    }
    const earlier = random.below(10) === 0 ? sent[random.below(sent.length)] : undefined;
    if (earlier !== undefined && random.below(2) === 0) return earlier;
    const plant = this.make(earlier?.id ?? spreadId(sent.length + 1));
    sent.push(plant);
    this.sentById.set(plant.id, [...(this.sentById.get(plant.id) ?? []), plant]);
    return plant;
  }

  private make(id: bigint): NewPlant {
    const name = `plant ${this.sent.length}`.padEnd(this.random.pick(0, 40, 400, 4_000), ' é☘');
    const tag = this.random.pick(undefined, '', 'indoor');
    return tag === undefined ? { id, name } : { id, name, tag };
  }

  /** Records an unknown outcome: there was no answer, or a 503. */
  noAnswer(plant: NewPlant): void {
    this.unanswered.add(plant);
  }

  /** Records an answer, and returns its fault. */
  answered(plant: NewPlant, answer: number): string | undefined {
    if (answer === 40900) {
      this.refused.push(plant);
      return undefined;
    }
    if (answer !== 200 && answer !== 40901) return `${answer} for ${show(plant)}`;
    const known = this.settled.get(plant.id) ?? plant;
    const isSecond = answer === 200 && this.created.has(plant.id);
    this.settled.set(plant.id, plant);
    if (answer === 200) this.created.add(plant.id);
    return isSame(known, plant) && !isSecond
      ? undefined
      : `${answer} for ${show(plant)}, when ${show(known)} was there`;
  }

  /** Lists the faults of the rows of this store, and takes its plants as settled. */
  async audit(url: string): Promise<string[]> {
    const faults: string[] = [];
    const missing = new Map(this.settled);
    await forEachRow(url, ({ id, name, tag }) => {
      const row = { id: BigInt(id), name, ...(tag !== null && { tag }) };
      const known = this.settled.get(row.id);
      const candidates = known === undefined ? (this.sentById.get(row.id) ?? []) : [known];
      if (!candidates.some((plant) => isSame(plant, row))) {
        faults.push(`the store holds ${show(row)}, which nobody sent or which was another plant`);
      }
      missing.delete(row.id);
      this.settled.set(row.id, row);
      this.created.add(row.id);
    });
    for (const plant of missing.values()) faults.push(`${show(plant)} is lost`);
    for (const plant of this.refused) {
      const stored = this.settled.get(plant.id);
      if (stored === undefined || isSame(stored, plant)) faults.push(`40900 for ${show(plant)}`);
    }
    this.refused = [];
    return faults;
  }

  summary(): string {
    return `${this.settled.size} plants in the store, ${this.unanswered.size} without an answer`;
  }
}

/** Returns a different id for each index, spread over all int64 values. */
export function spreadId(index: number): bigint {
  return BigInt.asIntN(64, BigInt(index) * 0x9e3779b97f4a7c15n);
}

function isSame(one: NewPlant, other: NewPlant): boolean {
  return one.name === other.name && one.tag === other.tag;
}

function show({ id, name, tag }: NewPlant): string {
  return JSON.stringify({ id: String(id), name: name.slice(0, 40), tag });
}
