import { SeededRandom } from '../../support/seeded-random.js';
import { Imports } from './imports.js';
import { Mirror } from './mirror.js';
import { Moves } from './moves.js';
import { Registers } from './registers.js';
import { exportPlants, type Send } from './requests.js';

/** Checks the rows of an export, by their ids, each the JSON of its name and tag. */
export type AuditExport = (rows: ReadonlyMap<string, string>) => void;

/** Clients that send requests, and know what must be stored. */
export interface Workload {
  /** How many clients there are. Each takes one step after another. */
  readonly clients: number;

  step(): Promise<void>;

  /** Begins an audit. The export must begin after this call, and may last while requests are sent. */
  startAudit?(): AuditExport;

  /** Checks the rows that are stored at the end, once nobody sends requests. */
  finish?(rows: ReadonlyMap<string, string>): Promise<void> | void;

  summary(): string;
}

/** The shared parts of all workloads. */
export interface Circumstances {
  readonly seed: number;
  readonly send: Send;
  /** The faults that were found, for people to read. */
  readonly faults: string[];
  /** The longest pause within a transaction, in milliseconds. */
  readonly longestMs: number;
  /** How long the last changes may take to come, in milliseconds. */
  readonly patienceMs: number;
}

/** All workloads on one store, from its beginning until they are stopped. */
export class Load {
  private readonly workloads: readonly Workload[];
  private readonly work: Promise<unknown>;
  private isOver = false;

  constructor(private readonly circumstances: Circumstances) {
    const random = new SeededRandom(circumstances.seed);
    this.workloads = [
      new Registers(circumstances),
      new Imports(circumstances, random),
      new Moves(circumstances, random),
      new Mirror(circumstances),
    ];
    const run = async (workload: Workload): Promise<void> => {
      while (!this.isOver) await workload.step();
    };
    const clients = this.workloads.flatMap((one) => Array<Workload>(one.clients).fill(one));
    this.work = Promise.all(clients.map(run));
    this.work.catch(() => (this.isOver = true));
  }

  /** Exports all plants, and checks them against what the clients know. */
  async audit(): Promise<Map<string, string>> {
    const audits = this.workloads.flatMap((workload) => workload.startAudit?.() ?? []);
    const rows = await exportPlants(this.circumstances.send);
    for (const check of audits) check(rows);
    return rows;
  }

  /** Stops all clients, and checks what is stored then. */
  async stop(): Promise<void> {
    this.isOver = true;
    await this.work;
    const rows = await this.audit();
    for (const workload of this.workloads) await workload.finish?.(rows);
  }

  summary(): string {
    return this.workloads.map((one) => one.summary()).join('; ');
  }
}
