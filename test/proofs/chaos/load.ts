import { SeededRandom } from '../../support/seeded-random.js';
import { Imports } from './imports.js';
import { Mirror } from './mirror.js';
import { Moves } from './moves.js';
import { Registers } from './registers.js';
import type { Send } from './replicas.js';
import { exportPlants } from './requests.js';

/** Checks the rows of an export, by their ids, each the JSON of its name and tag. */
export type AuditExport = (rows: ReadonlyMap<string, string>) => void;

/** Clients that send requests, and know what must be stored. */
export interface Workload {
  /** What went wrong so far, for people to read. */
  readonly faults: readonly string[];

  /** Sends requests as long as `goesOn` returns true. */
  run(goesOn: () => boolean): Promise<void>;

  /** Begins an audit. The export must begin after this call, and may last while requests are sent. */
  startAudit?(): AuditExport;

  summary(): string;
}

/** All workloads on one store, and a mirror of it, from its beginning until they are stopped. */
export class Load {
  private readonly workloads: readonly Workload[];
  private readonly mirror: Mirror;
  private readonly work: Promise<unknown>;
  private isOver = false;

  /** @param longestMs the longest pause within a transaction, in milliseconds */
  constructor(
    private readonly send: Send,
    seed: number,
    longestMs: number,
  ) {
    const random = new SeededRandom(seed);
    this.workloads = [
      new Registers(seed, send),
      new Imports(random, send),
      new Moves(random, send, longestMs),
    ];
    this.mirror = new Mirror(send);
    const goesOn = (): boolean => !this.isOver;
    this.work = Promise.all([...this.workloads, this.mirror].map((one) => one.run(goesOn)));
    this.work.catch(() => (this.isOver = true));
  }

  get faults(): string[] {
    return [...this.workloads, this.mirror].flatMap(({ faults }) => faults);
  }

  /** Exports all plants, and checks them against what the clients know. */
  async audit(): Promise<Map<string, string>> {
    const audits = this.workloads.flatMap((workload) => workload.startAudit?.() ?? []);
    const rows = await exportPlants(this.send);
    for (const check of audits) check(rows);
    return rows;
  }

  /**
   * Stops all clients, and compares the mirror with the store.
   *
   * @param patienceMs how long the last changes may take to come, in milliseconds
   */
  async stop(patienceMs = 20_000): Promise<void> {
    this.isOver = true;
    await this.work;
    await this.mirror.compare(await this.audit(), patienceMs);
  }

  summary(): string {
    return [...this.workloads, this.mirror].map((one) => one.summary()).join('; ');
  }
}
