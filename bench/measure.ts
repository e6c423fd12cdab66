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
  /** How many plants must be stored, and how many more or less may be. */
  stored: number;
  unknown: number;
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
    for (const one of able) faults.push(...(await findFaults(name, one, engine)));
  }
  for (const { server } of started) await server.stop();
  return faults;
}

/** Starts a contestant on a filled table, which the contestant has created before. */
async function startFilled(
  contestant: Contestant,
  engine: Engine,
  { folder: parent, rows }: Options & { readonly folder: string },
): Promise<Started> {
  const folder = await mkdtemp(path.join(parent, `${contestant.name}-`));
  await engine.create(folder);
  const url = engine.url(folder);
  const newIds = { next: FIRST_NEW_ID, rows: 0 };
  await (await start(contestant, folder, url, newIds.next++)).stop();
  if (contestant.isStoring) await fill(engine, folder, rows);
  const server = await start(contestant, folder, url, newIds.next++);
  if (contestant.operations.includes('read')) await checkAnswers(server.origin, contestant.name);
  return { contestant, folder, server, newIds, stored: rows + STARTS, unknown: 0, runs: [] };
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
    ['', 'per second', 'ratio', 'processor µs', 'ratio', 'refused', 'unanswered'],
    started.map((one) => {
      const cells = (['rate', 'processorUs'] as const).flatMap((value) => {
        const values = one.runs.slice(1).map((run) => run[value]);
        const ratios = values.map((own, round) => (first?.runs[round + 1]?.[value] ?? NaN) / own);
        const digits = value === 'rate' ? 0 : 1;
        return [formatNumber(median(values), digits), one === first ? '' : formatRange(ratios)];
      });
      const { refused, unanswered } = add(one.runs.slice(1));
      return [one.contestant.title, ...cells, String(refused), String(unanswered)];
    }),
  );
}

/** Compares the table with what was acknowledged, in the warm-up and the rounds together. */
async function findFaults(name: OperationName, one: Started, engine: Engine): Promise<string[]> {
  const { contestant, folder } = one;
  const { acknowledged, refused, unanswered } = add(one.runs);
  const faults = refused === 0 ? [] : [`${contestant.name}: ${refused} refused: ${name}`];
  if (!contestant.isStoring) return faults;
  if (name === 'create' || name === 'import') one.stored += acknowledged;
  if (name === 'remove') one.stored -= acknowledged;
  // A change without an answer may or may not be stored; the outcome of any other is known.
  one.unknown += unanswered;
  const check = (what: string, wanted: number, found: number): void => {
    if (Math.abs(found - wanted) <= one.unknown) return;
    faults.push(`${contestant.name}: ${found} ${what} are stored, not ${wanted}, after ${name}`);
  };
  check('plants', one.stored, await count(engine, folder));
  if (name === 'replace') {
    check('replaced plants', acknowledged, await count(engine, folder, REPLACED_TAG));
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
