import { setTimeout as sleep } from 'node:timers/promises';
import { readProcessorUs, type Started } from './contestants.js';
import { count } from './databases.js';
import { type Ids, send, type Tally } from './load.js';
import { type Operation, type OperationName, OPERATIONS } from './operations.js';

/** The pause before an operation, in milliseconds. */
const SETTLING = 1_000;

export interface Options {
  readonly rows: number;
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
}

interface Run extends Tally {
  /** The processor time of the contestant for each acknowledged request, in microseconds. */
  readonly processorUs: number;
}

interface Measured {
  readonly contestant: Started;
  readonly ids: Ids;
  /** The plants that the operation counts, before the first run. */
  readonly before: number;
  /** The first one is the warm-up. */
  readonly runs: Run[];
}

/**
 * Measures an operation of these contestants in rounds, and prints a table. A contestant is idle
 * while another one is measured, so that the runs of a round are close to each other.
 *
 * @returns what was acknowledged and not stored, or the other way round
 */
export async function measure(
  name: OperationName,
  contestants: readonly Started[],
  options: Options,
): Promise<string[]> {
  const { rows, rounds, seconds, connections } = options;
  const { counted = 'FALSE' }: Operation = OPERATIONS[name];
  const all: Measured[] = [];
  // Requests of the operation before, which were not answered in time, may still be handled.
  await sleep(SETTLING);
  for (const contestant of contestants) {
    const ids = name === 'create' || name === 'import' ? contestant.newIds : { next: 0, rows };
    all.push({ contestant, ids, before: await count(contestant.url, counted), runs: [] });
  }
  for (let round = 0; round <= rounds; round++) {
    console.error(`${name}: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`);
    // No contestant always follows the same one.
    const first = round % all.length;
    for (const { contestant, ids, runs } of [...all.slice(first), ...all.slice(0, first)]) {
      const before = await readProcessorUs(contestant.pid);
      const tally = await send(contestant.origin, name, ids, connections, seconds);
      const used = (await readProcessorUs(contestant.pid)) - before;
      runs.push({ ...tally, processorUs: used / tally.acknowledged });
    }
  }
  const how = name === 'import' ? '' : ` of ${seconds} s on ${connections} connections`;
  console.log(`\n${name}, ${rows} plants at the start, ${rounds} rounds${how}:`);
  console.table(
    Object.fromEntries(all.map((one) => [one.contestant.title, summarize(one, all[0] ?? one)])),
  );
  return (await Promise.all(all.map((one) => findFaults(name, one, counted, rows)))).flat();
}

/** The medians of the rounds, and the ratios of the first contestant's values to these. */
function summarize({ runs }: Measured, first: Measured): Record<string, number | string> {
  const summary: Record<string, number | string> = {};
  for (const [title, value, digits] of [
    ['per second', 'rate', 0],
    ['processor µs', 'processorUs', 1],
  ] as const) {
    const values = runs.slice(1).map((run) => run[value]);
    summary[title] = Number(median(values).toFixed(digits));
    if (runs === first.runs) continue;
    const ratios = values.map((own, round) => (first.runs[round + 1]?.[value] ?? NaN) / own);
    const [middle, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map(
      (ratio) => ratio.toFixed(2),
    );
    // Of six rounds and more, the true median is between these in more than 95 of 100 measurements.
    summary[`ratio of ${title}`] = `${middle} (${least} to ${most})`;
  }
  return summary;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  return middle.reduce((sum, value) => sum + value, 0) / middle.length;
}

/** Compares the table with what was acknowledged, in the warm-up and the rounds together. */
async function findFaults(
  name: OperationName,
  { contestant: { title, url }, before, runs }: Measured,
  counted: string,
  rows: number,
): Promise<string[]> {
  const add = (value: keyof Tally): number => runs.reduce((sum, run) => sum + run[value], 0);
  const [acknowledged, refused] = [add('acknowledged'), add('refused')];
  const faults = refused === 0 ? [] : [`${title}: ${refused} refused: ${name}`];
  if (name === 'read' || name === 'page') return faults;
  const found = Math.abs((await count(url, counted)) - before);
  const unanswered = add('unanswered');
  const most = acknowledged + unanswered;
  // A long load replaces rows again.
  const least = name === 'replace' ? Math.min(acknowledged, rows - unanswered) : acknowledged;
  if (found < least || found > most) {
    faults.push(`${title}: ${found} plants have changed, not ${least} to ${most}: ${name}`);
  }
  return faults;
}
