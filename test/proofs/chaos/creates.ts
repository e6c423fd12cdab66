import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { Answer, Send } from './replicas.js';
import { LINES_TYPE, makeCreate, toState, writeRow } from './requests.js';
import type { AuditExport, Workload } from './load.js';

const CREATORS = 8;
const IMPORTERS = 2;
/** The most lines of an import. */
const MOST_LINES = 400;
/** A client that has created more plants than this removes its oldest ones. */
const KEPT = 2_000;
/** The pause of a client after an answer, in milliseconds. */
const LONGEST_PAUSE_MS = 20;
/** The first of the ids: no number of JavaScript has them. */
const FIRST_ID = 2n ** 62n + 1n;

/** Creates, imports and removals of plants, each by the only client that uses its id. */
export class Creates implements Workload {
  readonly faults: string[] = [];
  /** The acknowledged plants, by their ids. */
  private readonly stored = new Map<string, string>();
  /** What the clients are about to change, and has no known state. */
  private readonly pending = new Map<string, string>();
  /** The ids that changed since the last audit began. */
  private changed = new Set<string>();
  private lastId = FIRST_ID;
  private sent = 0;

  constructor(
    private readonly random: SeededRandom,
    private readonly send: Send,
  ) {}

  async run(goesOn: () => boolean): Promise<void> {
    const clients = Array.from({ length: CREATORS + IMPORTERS }, async (_, index) => {
      const own: string[] = [];
      while (goesOn()) {
        own.push(...(index < CREATORS ? await this.create() : await this.import()));
        for (const id of own.splice(0, own.length - KEPT)) await this.remove(id);
        await sleep(this.random.below(LONGEST_PAUSE_MS));
      }
    });
    await Promise.all(clients);
  }

  startAudit(): AuditExport {
    const before = new Map(this.stored);
    this.changed = new Set(this.pending.keys());
    return (rows) => {
      for (const [id, state] of before) {
        const row = rows.get(id);
        if (row === state || this.changed.has(id)) continue;
        this.faults.push(`an acknowledged plant is lost: ${id} is ${row?.slice(0, 80) ?? 'gone'}`);
      }
      for (const [id, row] of rows) {
        if (BigInt(id) < FIRST_ID || before.has(id) || this.changed.has(id)) continue;
        this.faults.push(`a plant came back, or nobody sent it: ${id} ${row.slice(0, 80)}`);
      }
    };
  }

  summary(): string {
    return `${this.sent} creates and removals, ${this.stored.size} plants`;
  }

  private async create(): Promise<string[]> {
    const [id, state] = this.draw();
    this.begin([[id, state]]);
    const isDone = await this.repeat(makeCreate(BigInt(id), state), (answer, isAgain) => {
      // Only an attempt without an answer can have created it.
      return answer.status === 200 || (isAgain && answer.body.includes('"error":40901'));
    });
    this.end([[id, state]], isDone);
    return [id];
  }

  private async import(): Promise<string[]> {
    const rows = Array.from({ length: 1 + this.random.below(MOST_LINES) }, () => this.draw());
    const body = rows.map(([id, state]) => `${writeRow(BigInt(id), state)}\n`).join('');
    this.begin(rows);
    const request = { method: 'POST', path: '/plants/import', headers: LINES_TYPE, body };
    const isDone = await this.repeat(request, (answer, isAgain) => {
      if (answer.status !== 200) return false;
      const { created, identical } = JSON.parse(answer.body) as Record<string, number>;
      const all = (created ?? 0) + (identical ?? 0);
      return all === rows.length && (isAgain || identical === 0);
    });
    this.end(rows, isDone);
    return rows.map(([id]) => id);
  }

  private async remove(id: string): Promise<void> {
    this.begin([[id, '']]);
    const request = { method: 'DELETE', path: `/plants/${id}` };
    const isDone = await this.repeat(request, (answer, isAgain) => {
      return answer.status === 204 || (isAgain && answer.status === 404);
    });
    if (isDone) this.stored.delete(id);
    this.pending.delete(id);
  }

  /** Sends a request until its outcome is known. @returns whether it is right */
  private async repeat(
    request: Parameters<Send>[0],
    isRight: (answer: Answer, isAgain: boolean) => boolean,
  ): Promise<boolean> {
    this.sent++;
    for (let attempt = 1; ; attempt++) {
      const answer = await this.send(request);
      if (answer === undefined || answer.status === 503) continue;
      if (isRight(answer, attempt > 1)) return true;
      const { method, path, body = '' } = request;
      this.faults.push(
        `a wrong answer: ${method} ${path} ${body.slice(0, 80)} -> ${answer.status} ${answer.body.slice(0, 200)}`,
      );
      return false;
    }
  }

  private begin(rows: readonly (readonly [string, string])[]): void {
    for (const [id, state] of rows) {
      this.pending.set(id, state);
      this.changed.add(id);
    }
  }

  private end(rows: readonly (readonly [string, string])[], isDone: boolean): void {
    for (const [id, state] of rows) {
      if (isDone) this.stored.set(id, state);
      this.pending.delete(id);
    }
  }

  private draw(): [id: string, state: string] {
    const { random } = this;
    const id = String(this.lastId++);
    const name = `plant ${id}`.padEnd(random.pick(0, 0, 0, 400, 4_000), ' é☘');
    const tag = random.pick(undefined, '', 'indoor');
    return [id, toState(tag === undefined ? { name } : { name, tag })];
  }
}
