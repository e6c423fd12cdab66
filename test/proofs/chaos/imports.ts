import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { AuditExport, Circumstances, Workload } from './load.js';
import { toState, writeRow } from './requests.js';

/** The most lines of an import. */
const MOST_LINES = 400;
/** The pause of a client after an answer, in milliseconds. */
const LONGEST_PAUSE_MS = 2_000;
/** The first of the ids: no number of JavaScript has them. */
const FIRST_ID = 2n ** 62n + 1n;

/** Imports of many plants, short and long, each of which is stored as long as the store exists. */
export class Imports implements Workload {
  readonly clients = 2;
  /** The acknowledged plants, by their ids. */
  private readonly stored = new Map<string, string>();
  private lastId = FIRST_ID;

  constructor(
    private readonly load: Circumstances,
    private readonly random: SeededRandom,
  ) {}

  /** Repeats an import until it is answered. Then every line must be stored. */
  async step(): Promise<void> {
    const rows = Array.from({ length: 1 + this.random.below(MOST_LINES) }, () => this.draw());
    const body = rows.map(([id, state]) => `${writeRow(BigInt(id), state)}\n`).join('');
    const headers = { 'Content-Type': 'application/x-ndjson' };
    for (let attempt = 1; ; attempt++) {
      const answer = await this.load.send({
        method: 'POST',
        path: '/plants/import',
        headers,
        body,
      });
      if (answer === undefined || answer.status === 503) continue;
      const { created = 0, identical = 0 } = JSON.parse(answer.body) as Record<string, number>;
      // Only an attempt without an answer can have stored lines.
      if (created + identical === rows.length && (attempt > 1 || identical === 0)) break;
      this.load.faults.push(`a wrong answer: an import of ${rows.length} lines -> ${answer.body}`);
      return;
    }
    for (const [id, state] of rows) this.stored.set(id, state);
    await sleep(this.random.below(LONGEST_PAUSE_MS));
  }

  startAudit(): AuditExport {
    const before = new Map(this.stored);
    return (rows) => {
      for (const [id, state] of before) {
        const row = rows.get(id) ?? 'gone';
        if (row === state) continue;
        this.load.faults.push(`an acknowledged plant is lost: ${id} is ${row.slice(0, 80)}`);
      }
      for (const [id, row] of rows) {
        if (BigInt(id) < this.lastId) continue;
        this.load.faults.push(`nobody sent a plant: ${id} ${row.slice(0, 80)}`);
      }
    };
  }

  summary(): string {
    return `${this.stored.size} plants imported`;
  }

  private draw(): [id: string, state: string] {
    const { random } = this;
    const id = String(this.lastId++);
    const name = `plant ${id}`.padEnd(random.pick(0, 0, 0, 400, 4_000), ' é☘');
    const tag = random.pick(undefined, '', 'indoor');
    return [id, toState(tag === undefined ? { name } : { name, tag })];
  }
}
