import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { checkAnswers } from './answers.js';
import type { Contestant } from './contestants.js';
import { count, type Engine, fill } from './engines.js';
import { type Ids, sendImport, sendRequests, type Tally } from './load.js';
import { type OperationName, OPERATIONS, REPLACED_TAG } from './operations.js';
import type { Options } from './options.js';
import { readProcessorUs, type Server, start } from './server.js';
import { formatNumber, formatRange, median, printTable } from './statistics.js';

/** Far beyond the rows of any table: the ids of creates and imports. */
const FIRST_NEW_ID = 1_000_000_000;
/** Plants that the two starts of a contestant create. */
const STARTS = 2;

interface Run extends Tally {
  /** The processor time of the contestant for each acknowledged request, in microseconds. */
  readonly processorUs: number;
}

interface Started {
  readonly contestant: Contestant;
  readonly folder: string;
  readonly server: Server;
  readonly newIds: Ids;
  /** How many plants are stored at least and at most, since the outcome of some requests is unknown. */
  least: number;
  most: number;
  /** The runs of the operation that is being measured. The first one is the warm-up. */
  runs: Run[];
}

/**
 * Measures the operations of all contestants in rounds, and prints a table for each operation. All
 * contestants are started before, and are idle while another one is measured, so that the runs of a
 * round are close to each other.
 *
 * @returns what was acknowledged and not stored, or the other way round
 */
export async function measure(
  options: Options & { readonly folder: string },
  engine: Engine,
  contestants: readonly Contestant[],
): Promise<string[]> {
  const started: Started[] = [];
  for (const contestant of contestants) {
    const isMeasured = options.operations.some((name) => contestant.operations.includes(name));
    if (isMeasured) started.push(await startFilled(contestant, engine, options));
  }
  const faults: string[] = [];
  for (const name of options.operations) {
    const able = started.filter(({ contestant }) => contestant.operations.includes(name));
    await measureOperation(name, able, options);
    print(name, able, options);
    for (const one of able) faults.push(...(await findFaults(name, one, engine, options.rows)));
  }
  for (const { server } of started) await server.stop();
  return faults;
}

/** Starts a contestant on a filled table, which the contestant has created before. */
export async function startFilled(
  contestant: Contestant,
  engine: Engine,
  { folder: parent, rows }: { readonly folder: string; readonly rows: number },
): Promise<Started> {
  const folder = await mkdtemp(path.join(parent, 'contestant-'));
  const url = await engine.open(folder);
  const newIds = { next: FIRST_NEW_ID, rows: 0 };
  await (await start(contestant, folder, url, newIds.next++)).stop();
  await fill(engine, folder, rows);
  const server = await start(contestant, folder, url, newIds.next++);
  await checkAnswers(server.origin, contestant.title);
  const stored = rows + STARTS;
  return { contestant, folder, server, newIds, least: stored, most: stored, runs: [] };
}

async function measureOperation(
  name: OperationName,
  started: readonly Started[],
  { rows, rounds, seconds, connections }: Options,
): Promise<void> {
  const operation = OPERATIONS[name];
  const loads = started.map((one) => {
    one.runs = [];
    const ids = name === 'create' ? one.newIds : { next: 0, rows };
    const send = (): Promise<Tally> =>
      operation === undefined
        ? sendImport(one.server.origin, one.newIds)
        : sendRequests(one.server.origin, operation, ids, connections, seconds);
    return { one, send };
  });
  for (let round = 0; round <= rounds; round++) {
    console.error(`${name}: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`);
    // No contestant always follows the same one.
    const first = round % loads.length;
    for (const { one, send } of [...loads.slice(first), ...loads.slice(0, first)]) {
      const before = await readProcessorUs(one.server.pid);
      const tally = await send();
      const used = (await readProcessorUs(one.server.pid)) - before;
      one.runs.push({ ...tally, processorUs: used / tally.acknowledged });
    }
  }
}

function print(
  name: OperationName,
  started: readonly Started[],
  { rows, connections, rounds, seconds }: Options,
): void {
  const title = OPERATIONS[name]?.title ?? 'imported lines';
  const how = name === 'import' ? '' : ` of ${seconds} s on ${connections} connections`;
  const [first] = started;
  printTable(
    `${title}, ${formatNumber(rows)} plants at the start, ${rounds} rounds${how}`,
    ['', 'per second', 'ratio', 'processor µs', 'ratio', 'refused'],
    started.map((one) => {
      const cells = (['rate', 'processorUs'] as const).flatMap((value) => {
        const values = one.runs.slice(1).map((run) => run[value]);
        const ratios = values.map((own, round) => (first?.runs[round + 1]?.[value] ?? NaN) / own);
        const digits = value === 'rate' ? 0 : 1;
        return [formatNumber(median(values), digits), one === first ? '' : formatRange(ratios)];
      });
      return [one.contestant.title, ...cells, String(add(one.runs.slice(1)).refused)];
    }),
  );
}

/** Compares the table with what was acknowledged, in the warm-up and the rounds together. */
async function findFaults(
  name: OperationName,
  one: Started,
  engine: Engine,
  rows: number,
): Promise<string[]> {
  const { contestant, folder } = one;
  const { acknowledged, refused, unanswered } = add(one.runs);
  const faults = refused === 0 ? [] : [`${contestant.title}: ${refused} refused: ${name}`];
  const check = (what: string, least: number, most: number, found: number): void => {
    if (found >= least && found <= most) return;
    const wanted = `${least} to ${most}`;
    faults.push(`${contestant.title}: ${found} ${what} are stored, not ${wanted}, after ${name}`);
  };
  if (name === 'create' || name === 'import') {
    one.least += acknowledged;
    one.most += acknowledged + unanswered;
  }
  if (name === 'remove') {
    one.least -= acknowledged + unanswered;
    one.most -= acknowledged;
  }
  check('plants', one.least, one.most, await count(engine, folder));
  if (name === 'replace') {
    // A long load replaces rows again.
    const least = Math.min(acknowledged, rows - unanswered);
    const replaced = await count(engine, folder, REPLACED_TAG);
    check('replaced plants', least, acknowledged + unanswered, replaced);
  }
  return faults;
}

function add(runs: readonly Run[]): Omit<Tally, 'rate'> {
  const total = { acknowledged: 0, refused: 0, unanswered: 0 };
  for (const run of runs) {
    total.acknowledged += run.acknowledged;
    total.refused += run.refused;
    total.unanswered += run.unanswered;
  }
  return total;
}
