import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';

/** How many loops there are of each kind. */
const LOOPS = 4;
/** The longest pause in the middle of a transaction, in milliseconds. */
const PAUSE_MS = 16;
/** The entity, by its name: the built program has a class of its own. */
const PLANT = 'Plant';
/** The plants of a transaction. */
const ROWS = 3;

/** The outcome of a transaction or a save, as its module knows it. */
export interface Entry {
  readonly kind: 'committed' | 'rolled back' | 'saved' | 'failed';
  /** The first of its ids; a transaction has three in a row. */
  readonly id: number;
  /** How long it took, in milliseconds. */
  readonly took: number;
  readonly error?: string;
}

class Undo extends Error {}

/**
 * Other modules that write to the store with TypeORM as its documentation describes: loops of
 * transactions, half of which are rolled back, and of saves.
 */
export class Neighbours {
  private isStopped = false;
  private nextId: number;
  private readonly loops: Promise<void>[];

  /**
   * @param firstId their first id
   * @param report gets each entry once its caller knows the outcome
   */
  constructor(
    private readonly dataSource: DataSource,
    firstId: number,
    private readonly report: (entry: Entry) => void,
  ) {
    this.nextId = firstId;
    this.loops = Array.from({ length: LOOPS }).flatMap(() => [
      this.repeat((id) => this.transact(id)),
      this.repeat((id) => this.save(id)),
    ]);
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await Promise.all(this.loops);
  }

  private async repeat(step: (id: number) => Promise<Entry['kind']>): Promise<void> {
    while (!this.isStopped) {
      const id = this.nextId;
      this.nextId += ROWS;
      const began = performance.now();
      const result = await step(id).then(
        (kind) => ({ kind }),
        (error: unknown) => ({ kind: 'failed' as const, error: String(error) }),
      );
      this.report({ ...result, id, took: performance.now() - began });
    }
  }

  private async transact(id: number): Promise<Entry['kind']> {
    const isUndone = id % 2 === 0;
    const done = this.dataSource.transaction(async (manager) => {
      for (let row = 0; row < ROWS; row++) {
        await manager.insert(PLANT, { id: String(id + row), name: `transaction ${id}` });
        if (row === 0) await sleep(Math.random() * PAUSE_MS);
      }
      if (isUndone) throw new Undo();
    });
    try {
      await done;
      return 'committed';
    } catch (error) {
      if (error instanceof Undo) return 'rolled back';
      throw error;
    }
  }

  private async save(id: number): Promise<Entry['kind']> {
    await this.dataSource.getRepository(PLANT).save({ id: String(id), name: `save ${id}` });
    return 'saved';
  }
}

/** Lists the faults of a store with these plants, after these entries were reported. */
export function findFaults(
  entries: readonly Entry[],
  names: ReadonlyMap<string, string>,
): string[] {
  const counts = new Map<string, number>();
  for (const name of names.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const faults = [...counts]
    .filter(([name, rows]) => name.startsWith('transaction') && rows !== ROWS)
    .map(([name, rows]) => `${name} left ${rows} of its ${ROWS} rows`);
  for (const { kind, id, error } of entries) {
    const rows = counts.get(`transaction ${id}`) ?? 0;
    if (kind === 'committed' && rows !== ROWS) faults.push(`transaction ${id} is lost`);
    if (kind === 'rolled back' && rows !== 0) faults.push(`transaction ${id} was not rolled back`);
    if (kind === 'saved' && !counts.has(`save ${id}`)) faults.push(`save ${id} is lost`);
    if (kind === 'failed') faults.push(`${id} failed: ${error ?? ''}`);
  }
  return faults;
}
