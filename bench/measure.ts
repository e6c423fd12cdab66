import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { checkAnswers } from './answers.js';
import type { Contestant } from './contestants.js';
import type { Engine } from './engines.js';
import { type Ids, sendImport, sendRequests, type Tally } from './load.js';
import { type OperationName, OPERATIONS, REPLACED_TAG } from './operations.js';
import type { Options } from './options.js';
import { readProcessorUs, type Server, start } from './server.js';
import { formatNumber, formatSummary, printTable, summarize } from './statistics.js';

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
    const runs = await measureOperation(name, able, options);
    print(name, able, runs, options);
    for (const [index, one] of able.entries()) {
      faults.push(...(await findFaults(name, one, runs[index] ?? [], engine)));
    }
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
  if (contestant.isStoring && rows > 0) await engine.fill(folder, rows);
  const server = await start(contestant, folder, url, newIds.next++);
  // Only contestants with the same answers can be compared.
  if (contestant.operations.includes('read')) await checkAnswers(server.origin, contestant.name);
  return { contestant, folder, server, newIds, stored: rows + STARTS, unknown: 0 };
}

/** Resolves with the runs of each contestant, and the warm-up before them. */
async function measureOperation(
  name: OperationName,
  started: readonly Started[],
  { rows, rounds, seconds, warmUp, connections }: Options,
): Promise<Run[][]> {
  const operation = OPERATIONS[name];
  const loads = started.map((one) => {
    const ids = name === 'create' ? one.newIds : { next: 0, rows };
    const send = (time: number): Promise<Tally> =>
      operation === undefined
        ? sendImport(one.server.origin, one.newIds)
        : sendRequests(one.server.origin, operation, ids, { connections, seconds: time });
    return { server: one.server, send, runs: [] as Run[] };
  });
  for (let round = 0; round <= rounds; round++) {
    console.error(`${name}: ${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}`);
    // No contestant always follows the same one.
    const first = round % loads.length;
    for (const { server, send, runs } of [...loads.slice(first), ...loads.slice(0, first)]) {
      const before = await readProcessorUs(server.pid);
      const tally = await send(round === 0 ? warmUp : seconds);
      const used = (await readProcessorUs(server.pid)) - before;
      runs.push({ ...tally, processorUs: used / tally.acknowledged });
    }
  }
  return loads.map(({ runs }) => runs);
}

function print(
  name: OperationName,
  started: readonly Started[],
  runs: readonly Run[][],
  { rows, connections, rounds, seconds }: Options,
): void {
  const measured = runs.map((one) => one.slice(1));
  const [first = []] = measured;
  const title = OPERATIONS[name]?.title ?? 'imported lines';
  const how = name === 'import' ? '' : ` of ${seconds} s on ${connections} connections`;
  printTable(
    `${title}, ${formatNumber(rows)} plants at the start, ${rounds} rounds${how}`,
    ['', 'per second', 'ratio', 'processor µs', 'ratio', 'refused', 'unanswered'],
    started.map(({ contestant }, index) => {
      const own = measured[index] ?? [];
      const cells = (['rate', 'processorUs'] as const).flatMap((value) => {
        const ratios = own.map((run, round) => (first[round]?.[value] ?? NaN) / run[value]);
        const { median } = summarize(own.map((run) => run[value]));
        return [
          formatNumber(median, value === 'rate' ? 0 : 1),
          index === 0 ? '' : formatSummary(summarize(ratios), 3),
        ];
      });
      const counts = (['refused', 'unanswered'] as const).map((count) =>
        formatNumber(sum(own, count)),
      );
      return [contestant.title, ...cells, ...counts];
    }),
  );
}

/** Compares the table with what was acknowledged, in the warm-up and the rounds together. */
async function findFaults(
  name: OperationName,
  one: Started,
  runs: readonly Run[],
  engine: Engine,
): Promise<string[]> {
  const { contestant, folder } = one;
  const [acknowledged, refused, unanswered] = (
    ['acknowledged', 'refused', 'unanswered'] as const
  ).map((count) => sum(runs, count)) as [number, number, number];
  const faults = refused === 0 ? [] : [`${contestant.name}: ${refused} refused: ${name}`];
  if (!contestant.isStoring) return faults;
  if (name === 'create' || name === 'import') one.stored += acknowledged;
  if (name === 'remove') one.stored -= acknowledged;
  // A change without an answer may or may not be stored; the outcome of any other is known.
  one.unknown += unanswered;
  const counts = [['plants', one.stored, await engine.count(folder)]] as [string, number, number][];
  if (name === 'replace') {
    counts.push(['replaced plants', acknowledged, await engine.count(folder, REPLACED_TAG)]);
  }
  const wrong = counts.filter(([, wanted, found]) => Math.abs(found - wanted) > one.unknown);
  return [
    ...faults,
    ...wrong.map(
      ([what, wanted, found]) =>
        `${contestant.name}: ${found} ${what} are stored, not ${wanted}, after ${name}`,
    ),
  ];
}

function sum<Key extends string>(all: readonly Readonly<Record<Key, number>>[], key: Key): number {
  return all.reduce((total, one) => total + one[key], 0);
}
