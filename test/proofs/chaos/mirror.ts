import { setTimeout as sleep } from 'node:timers/promises';
import type { Circumstances, Workload } from './load.js';
import { parseWithIds, toState } from './requests.js';

/** How long a mirror waits after an empty page, in milliseconds. */
const PAUSE_MS = 20;

interface Change {
  readonly type: string;
  readonly id: string;
  readonly data?: { readonly name: string; readonly tag?: string };
}

/** A copy of the store that follows the feed of changes from its beginning. */
export class Mirror implements Workload {
  readonly clients = 1;
  /** The plants by their ids, each as the JSON of its name and tag. */
  private readonly rows = new Map<string, string>();
  private path = '/changes?limit=500';
  private changes = 0;

  constructor(private readonly load: Circumstances) {}

  /** Reads a page of the feed. */
  async step(): Promise<void> {
    const answer = await this.load.send({ method: 'GET', path: this.path });
    if (answer?.status === 200) {
      const changes = parseWithIds(answer.body) as Change[];
      for (const change of changes) this.apply(change);
      [, this.path = ''] = /<([^>]*)>/.exec(String(answer.headers.link)) ?? [];
      if (changes.length === 0) await sleep(PAUSE_MS);
    } else if (answer !== undefined && answer.status !== 503) {
      this.load.faults.push(`a wrong answer: ${this.path} -> ${answer.status} ${answer.body}`);
      await sleep(PAUSE_MS);
    }
  }

  /** Follows the feed until the mirror has these rows, and lists the differences if it never does. */
  async finish(rows: ReadonlyMap<string, string>): Promise<void> {
    const end = performance.now() + this.load.patienceMs;
    while (this.findDifferences(rows).length > 0 && performance.now() < end) await this.step();
    this.load.faults.push(...this.findDifferences(rows));
  }

  summary(): string {
    return `${this.changes} changes mirrored`;
  }

  /** Applies a change. Each must follow from the changes before. */
  private apply({ type, id, data }: Change): void {
    this.changes++;
    const [before, after] = [this.rows.get(id), data && toState(data)];
    const isExpected = (before === undefined) === (type === 'plant.created');
    if (!isExpected || countChanges(after) > countChanges(before) + 1) {
      this.load.faults.push(`a change is missing from the feed: ${type} of ${id} after ${before}`);
    }
    if (after === undefined) this.rows.delete(id);
    else this.rows.set(id, after);
  }

  private findDifferences(rows: ReadonlyMap<string, string>): string[] {
    const ids = new Set([...rows.keys(), ...this.rows.keys()]);
    return [...ids]
      .filter((id) => rows.get(id) !== this.rows.get(id))
      .map((id) => {
        const [own, stored] = [this.rows, rows].map((all) => all.get(id)?.slice(0, 80) ?? 'none');
        return `a change is missing from the feed: the mirror has ${own} as ${id}, the store ${stored}`;
      });
  }
}

/** The changes that an account of a module counts; NaN for any other plant. */
function countChanges(state = '{}'): number {
  const { tag } = JSON.parse(state) as { tag?: string };
  return tag ? Number(tag) : NaN;
}
