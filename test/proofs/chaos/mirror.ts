import { setTimeout as sleep } from 'node:timers/promises';
import { Moves } from './moves.js';
import type { Send } from './replicas.js';
import { parseWithIds, toState } from './requests.js';

/** How long a mirror waits after an empty page, in milliseconds. */
const PAUSE_MS = 20;

interface Change {
  readonly type: string;
  readonly id: string;
  readonly data?: { readonly name: string; readonly tag?: string };
}

/** A copy of the store that follows the feed of changes from its beginning. */
export class Mirror {
  readonly faults: string[] = [];
  /** The plants by their ids, each as the JSON of its name and tag. */
  private readonly rows = new Map<string, string>();
  private readonly replaced = new Map<string, number>();
  private path = '/changes?limit=500';
  private changes = 0;

  constructor(private readonly send: Send) {}

  async run(goesOn: () => boolean): Promise<void> {
    while (goesOn()) await this.follow();
  }

  /** Follows the feed until the mirror has these rows, and lists the differences if it never does. */
  async compare(rows: ReadonlyMap<string, string>, patienceMs: number): Promise<void> {
    const end = performance.now() + patienceMs;
    while (this.findDifferences(rows).length > 0 && performance.now() < end) await this.follow();
    this.faults.push(...this.findDifferences(rows));
  }

  summary(): string {
    return `${this.changes} changes mirrored`;
  }

  /** Applies a change. Each must follow from the changes before. */
  private apply({ type, id, data }: Change): void {
    this.changes++;
    const isExpected = this.rows.has(id) !== (type === 'plant.created');
    if (!isExpected) {
      this.faults.push(`a change is missing from the feed: ${type} of ${id} follows from nothing`);
    }
    if (type === 'plant.replaced') this.replaced.set(id, (this.replaced.get(id) ?? 0) + 1);
    if (data === undefined) this.rows.delete(id);
    else this.rows.set(id, toState(data));
  }

  private findDifferences(rows: ReadonlyMap<string, string>): string[] {
    const ids = new Set([...rows.keys(), ...this.rows.keys()]);
    const differences = [...ids]
      .filter((id) => rows.get(id) !== this.rows.get(id))
      .map(
        (id) =>
          `a change is missing from the feed: the mirror has ${show(this.rows.get(id))} as ${id}, the store ${show(rows.get(id))}`,
      );
    for (const [account, count] of Moves.countChanges(rows)) {
      const seen = this.replaced.get(account) ?? 0;
      if (seen === count) continue;
      differences.push(
        `a change is missing from the feed: of ${count} changes of the account ${account} it has ${seen}`,
      );
    }
    return differences;
  }

  private async follow(): Promise<void> {
    const answer = await this.send({ method: 'GET', path: this.path });
    if (answer?.status === 200) {
      const changes = parseWithIds(answer.body) as Change[];
      for (const change of changes) this.apply(change);
      this.path = findNext(answer.headers.link) ?? this.path;
      if (changes.length === 0) await sleep(PAUSE_MS);
    } else if (answer !== undefined && answer.status !== 503) {
      this.faults.push(`a wrong answer: ${this.path} -> ${answer.status} ${answer.body}`);
      await sleep(PAUSE_MS);
    }
  }
}

function findNext(link: string | string[] | undefined): string | undefined {
  return /<([^>]*)>/.exec(String(link))?.[1];
}

function show(state: string | undefined): string {
  return state?.slice(0, 80) ?? 'none';
}
