import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { findIntegrityFaults, useFile } from '../../../src/commands/sqlite-file.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { Disk } from './disk.js';
import { numbersIn, makePlant } from './plants.js';
import type { Recording } from './recording.js';
import type { Step } from './trace.js';

const STORE = 'data/plants.db';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly tag: string | null;
}

const ROWS = 'SELECT CAST(id AS TEXT) AS id, name, tag FROM plants';

/**
 * Simulates power cuts at this many moments, and each time checks a store that the disk could then
 * have.
 *
 * @param scratch a folder for that store
 * @returns the faults of these stores, and the plants that were acknowledged before a flush
 */
export async function cutPower(
  { folder, steps }: Recording,
  cuts: number,
  random: SeededRandom,
  scratch: string,
): Promise<string[]> {
  const moments = momentsIn(steps, cuts, random);
  const disk = new Disk(folder);
  const acknowledged = new Set<number>();
  const writtenBy = new Map<number, { path: string; step: number }>();
  const faults: string[] = [];
  for (const [index, step] of steps.entries()) {
    disk.apply(step);
    if (step.kind === 'write' && step.path.endsWith('-wal')) {
      for (const number of numbersIn(step.bytes)) {
        if (!writtenBy.has(number)) writtenBy.set(number, { path: step.path, step: index });
      }
    } else if (isAcknowledgement(step)) {
      const [number = 0] = numbersIn(step.requestId);
      acknowledged.add(number);
      const written = writtenBy.get(number);
      if (written === undefined || !disk.isDurable(written.path, written.step)) {
        faults.push(`step ${index}: ${step.requestId} is acknowledged and not flushed`);
      }
    }
    for (let cut = 0; cut < (moments.get(index) ?? 0); cut++) {
      writeFiles(disk.crash(random), folder, scratch);
      const found = await findFaults(join(scratch, STORE), acknowledged);
      if (found.length > 0) faults.push(`after step ${index}: ${found.slice(0, 3).join('; ')}`);
    }
  }
  return faults;
}

function isAcknowledgement(step: Step): step is Step & { readonly kind: 'answer' } {
  return step.kind === 'answer' && [200, 40_901].includes(step.code);
}

/** Draws the steps after which the power is cut: half of them acknowledge a plant. */
function momentsIn(
  steps: readonly Step[],
  cuts: number,
  random: SeededRandom,
): Map<number, number> {
  const any = [...steps.keys()];
  const answers = steps.flatMap((step, index) => (isAcknowledgement(step) ? [index] : []));
  const moments = new Map<number, number>();
  for (let cut = 0; cut < cuts; cut++) {
    const indexes = cut % 2 === 0 ? any : answers;
    const index = indexes[random.below(indexes.length)] ?? 0;
    moments.set(index, (moments.get(index) ?? 0) + 1);
  }
  return moments;
}

function writeFiles(files: ReadonlyMap<string, Buffer>, from: string, to: string): void {
  rmSync(to, { recursive: true, force: true });
  for (const [path, bytes] of files) {
    const file = join(to, relative(from, path));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  }
}

/**
 * Lists the faults of a store that must have exactly these plants, and no plant that was not sent.
 */
async function findFaults(path: string, acknowledged: ReadonlySet<number>): Promise<string[]> {
  const missing = new Set(acknowledged);
  const faults: string[] = [];
  try {
    for (const row of await readStore(path, faults)) {
      const [number = 0] = numbersIn(row.name);
      const { id, name, tag = null } = makePlant(number);
      if (row.id !== String(id) || row.name !== name || row.tag !== tag) {
        faults.push(`nobody sent ${row.id}, ${row.name.slice(0, 20)}`);
      }
      missing.delete(number);
    }
  } catch (error) {
    // Before the first answer, the store or its table need not exist.
    const { message } = error as Error;
    if (acknowledged.size > 0 || !/no store|no such table/.test(message)) faults.push(message);
  }
  if (missing.size > 0) faults.push(`${missing.size} of ${acknowledged.size} plants are lost`);
  return faults;
}

async function readStore(path: string, faults: string[]): Promise<Row[]> {
  return await useFile(path, 'rw', async (reader) => {
    await reader.all('PRAGMA synchronous = OFF');
    faults.push(...(await findIntegrityFaults(reader)));
    return await reader.all<Row>(ROWS);
  });
}
