import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import {
  findIntegrityFaults,
  useStoreFile,
} from '../../../packages/store/src/commands/sqlite-file.js';
import { schema } from '../../../src/schema.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { Disk } from './disk.js';
import { makePlant, numbersIn } from './recording.js';
import type { Step, Trace } from './trace.js';

const STORE = 'data/plants.db';
const ROWS = 'SELECT CAST(id AS TEXT) AS id, name, tag FROM plants';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

/** Cuts the power while a program works, and checks stores that the disk could then have. */
export class PowerCuts {
  readonly faults: string[] = [];
  private readonly disk: Disk;
  private readonly acknowledged = new Set<number>();
  /** The first step that wrote a plant to the log of the store. */
  private readonly writtenBy = new Map<number, number>();

  /**
   * @param folder the current folder of the program
   * @param scratch a folder for the stores to check
   */
  constructor(
    private readonly folder: string,
    private readonly scratch: string,
    private readonly random: SeededRandom,
  ) {
    this.disk = new Disk(folder);
  }

  get steps(): number {
    return this.disk.steps;
  }

  /** Repeats what the program did until its end, with power cuts at this many moments. */
  async replay({ steps, isCutOff }: Trace, moments: number): Promise<void> {
    const answers = steps.filter(isAcknowledgement);
    // Half of them come after an answer that acknowledges a plant.
    const cuts = Array.from({ length: moments }, (_, cut) => {
      const choices = cut % 2 === 0 ? steps : answers;
      return choices[this.random.below(choices.length)];
    });
    for (const step of steps) {
      this.disk.apply(step);
      this.note(step);
      for (const cut of cuts) if (cut === step) await this.cut();
    }
    // The files must match the recorded steps, except for calls that a kill has interrupted.
    for (const [path, bytes] of this.disk.current()) {
      const real = readFileSync(path);
      if (real.equals(bytes)) continue;
      if (!isCutOff) throw new Error(`${path} is not what the trace makes of it`);
      this.disk.apply({ kind: 'truncate', path, size: real.length });
      this.disk.apply({ kind: 'write', path, offset: 0, bytes: real });
    }
  }

  private note(step: Step): void {
    const log = join(this.folder, `${STORE}-wal`);
    if (step.kind === 'write' && step.path === log) {
      for (const number of numbersIn(step.bytes)) {
        if (!this.writtenBy.has(number)) this.writtenBy.set(number, this.steps - 1);
      }
    } else if (isAcknowledgement(step)) {
      const [number = 0] = numbersIn(step.text);
      this.acknowledged.add(number);
      const written = this.writtenBy.get(number);
      if (written === undefined || !this.disk.isDurable(log, written)) {
        this.faults.push(`step ${this.steps}: plant ${number} is acknowledged and not flushed`);
      }
    }
  }

  private async cut(): Promise<void> {
    rmSync(this.scratch, { recursive: true, force: true });
    for (const [path, bytes] of this.disk.crash(this.random)) {
      const file = join(this.scratch, relative(this.folder, path));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, bytes);
    }
    const found = await findFaults(join(this.scratch, STORE), this.acknowledged);
    if (found.length === 0) return;
    this.faults.push(`after step ${this.steps}: ${found.slice(0, 3).join('; ')}`);
  }
}

function isAcknowledgement(step: Step): step is Step & { readonly kind: 'answer' } {
  return step.kind === 'answer' && /^HTTP\/1\.1 200 |"error":40901,/.test(step.text);
}

/**
 * Lists the faults of a store that must have exactly these plants, and no plant that was not sent.
 */
async function findFaults(path: string, acknowledged: ReadonlySet<number>): Promise<string[]> {
  const missing = new Set(acknowledged);
  const faults: string[] = [];
  try {
    await useStoreFile(path, 'write', schema, async (reader) => {
      await reader.all('PRAGMA synchronous = OFF');
      faults.push(...(await findIntegrityFaults(reader)));
      for (const row of await reader.all<Row>(ROWS)) {
        const [number = 0] = numbersIn(row.name);
        const { id, name, tag = null } = makePlant(number);
        if (row.id !== String(id) || row.name !== name || row.tag !== tag) {
          faults.push(`nobody sent ${row.id}, ${row.name.slice(0, 20)}`);
        }
        missing.delete(number);
      }
    });
  } catch (error) {
    // Before the first answer, the store need not exist, and its migrations need not have run.
    const { message } = error as Error;
    const isUnfinished = /no store|no such table|executed no migration/.test(message);
    if (acknowledged.size > 0 || !isUnfinished) faults.push(message);
  }
  if (missing.size > 0) faults.push(`${missing.size} of ${acknowledged.size} plants are lost`);
  return faults;
}
