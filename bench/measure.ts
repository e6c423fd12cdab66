import { setTimeout as sleep } from 'node:timers/promises';
import { readProcessorUs, readTreeUs, type Started } from './contestants.js';
import { count, query } from './databases.js';
import { type Ids, send, sendImport, type Tally } from './load.js';
import { type Operation, type OperationName, OPERATIONS } from './operations.js';
import { type Engine, type Measurement, type Part, type Round, toRange } from './results.js';

/** None of them is stored. */
const REFUSED_IDS: Ids = { next: 2_000_000_000, rows: 0 };

/** The pause before an operation, in milliseconds. */
const SETTLING = 1_000;

export interface Options {
  readonly part: Part;
  readonly engine: Engine;
  readonly rows: number;
  readonly connections: number;
  readonly rounds: number;
  readonly seconds: number;
  /** The process of the PostgreSQL server. */
  readonly serverPid: string | undefined;
  /** Is called at the end of each run of a contestant. */
  readonly onRun: () => void;
}

interface Run extends Omit<Tally, 'rate' | 'medianMs' | 'p99Ms'> {
  readonly round: Round;
}

interface Measured {
  readonly contestant: Started;
  /** Those of each replica. */
  readonly ids: readonly Ids[];
  /** The plants that the operation counts, before the first run. */
  readonly before: number;
  /** The first one is the warm-up. */
  readonly runs: Run[];
}

/** The columns of the table, of which each has the median of the rounds. */
const COLUMNS = [
  ['per second', 'rate', 0],
  ['program µs', 'processorUs', 1],
  ['server µs', 'serverUs', 1],
  ['load µs', 'loadUs', 1],
  ['beside per second', 'besideRate', 0],
  ['median ms', 'medianMs', 1],
  ['p99 ms', 'p99Ms', 1],
] as const;

/** The values of the first contestant that are divided by those of each other one. */
const COMPARED: readonly (readonly [string, (round: Round) => number])[] = [
  ['ratio of per second', ({ rate }) => rate],
  ['ratio of processor µs', ({ processorUs, serverUs }) => processorUs + serverUs],
];

/**
 * Measures an operation of these contestants in rounds. A contestant is idle while another one is
 * measured, so that the runs of a round are close to each other.
 *
 * @returns also what was acknowledged and not stored, or the other way round
 */
export async function measure(
  name: OperationName,
  contestants: readonly Started[],
  options: Options,
): Promise<{ measurements: Measurement[]; faults: string[] }> {
  const operation: Operation = OPERATIONS[name];
  // Requests of the operation before, which were not answered in time, may still be handled.
  await sleep(SETTLING);
  const all: Measured[] = [];
  for (const contestant of contestants) all.push(await prepareFor(operation, contestant));
  for (let round = 0; round <= options.rounds; round++) {
    // No contestant always follows the same one.
    const first = round % all.length;
    for (const one of [...all.slice(first), ...all.slice(0, first)]) {
      one.runs.push(await run(operation, one, options));
      options.onRun();
    }
  }
  const connections = operation.connections ?? options.connections;
  const measurements = all.map(({ contestant: { title }, runs }) => ({
    part: options.part,
    engine: options.engine,
    operation: name,
    connections,
    contestant: title,
    rounds: runs.slice(1).map(({ round }) => round),
  }));
  const faults = await Promise.all(all.map((one) => findFaults(name, one, operation)));
  return { measurements, faults: faults.flat() };
}

/** Prints the medians of an operation, and their ratios to those of the first contestant. */
export function printTable(
  measurements: readonly Measurement[],
  { rows, rounds, seconds }: Options,
): void {
  const [base] = measurements;
  if (base === undefined) return;
  const { operation, connections } = base;
  const how = operation === 'import' ? '' : ` of ${seconds} s on ${connections} connections`;
  console.log(`\n${operation}, ${rows} plants at the start, ${rounds} rounds${how}:`);
  const lines = measurements.map((one) => [
    one.contestant,
    summarize(one.rounds, one === base ? undefined : base.rounds),
  ]);
  console.table(Object.fromEntries(lines));
}

async function prepareFor(operation: Operation, contestant: Started): Promise<Measured> {
  const { url, replicas, rows } = contestant;
  for (const sql of operation.sql ?? []) await query(url, sql);
  const isForNew = operation.body?.includes('{id}') === true && !operation.path.includes('{id}');
  const ids = replicas.map(({ newIds }, place) =>
    isForNew ? newIds : { next: Math.round((place * rows) / replicas.length), rows },
  );
  return { contestant, ids, before: await count(url, operation.counted ?? 'FALSE'), runs: [] };
}

/** Sends an operation to all replicas of a contestant at once, and adds up what they did. */
async function run(
  operation: Operation,
  { contestant: { replicas }, ids }: Measured,
  options: Options,
): Promise<Run> {
  const { beside } = operation;
  const { seconds, serverPid } = options;
  const connections = (operation.connections ?? options.connections) / replicas.length;
  const readTimes = async (): Promise<[number, number, number]> => [
    sum(await Promise.all(replicas.map(({ pid }) => readProcessorUs(pid)))),
    serverPid === undefined ? 0 : await readTreeUs(serverPid),
    await readProcessorUs('self', 'ended'),
  ];
  const before = await readTimes();
  const [disturbed, ...tallies] = await Promise.all([
    beside && send(replicas[0].origin, beside, REFUSED_IDS, beside.connections, seconds),
    ...replicas.map(({ origin }, place) =>
      operation === OPERATIONS.import
        ? sendImport(origin, operation, ids[place] as Ids)
        : send(origin, operation, ids[place] as Ids, connections, seconds),
    ),
  ]);
  const after = await readTimes();
  const acknowledged = sum(tallies.map((tally) => tally.acknowledged));
  const [processorUs, serverUs, loadUs] = after.map(
    (time, part) => (time - (before[part] ?? 0)) / acknowledged,
  ) as [number, number, number];
  return {
    acknowledged,
    refused: sum(tallies.map((tally) => tally.refused)),
    unanswered: sum(tallies.map((tally) => tally.unanswered)),
    round: {
      rate: sum(tallies.map((tally) => tally.rate)),
      ...{ processorUs, serverUs, loadUs },
      besideRate: disturbed ? (disturbed.acknowledged + disturbed.refused) / seconds : 0,
      // Of several replicas, the slowest one counts.
      medianMs: Math.max(...tallies.map((tally) => tally.medianMs)),
      p99Ms: Math.max(...tallies.map((tally) => tally.p99Ms)),
    },
  };
}

/** The medians of rounds, and their ratios to those of the first contestant. */
function summarize(
  rounds: readonly Round[],
  base: readonly Round[] | undefined,
): Record<string, number | string> {
  const summary: Record<string, number | string> = {};
  for (const [title, value, digits] of COLUMNS) {
    const { median: typical } = toRange(rounds.map((round) => round[value]));
    if (typical > 0) summary[title] = Number(typical.toFixed(digits));
  }
  if (base === undefined) return summary;
  for (const [title, read] of COMPARED) {
    const ratios = base.map((round, index) => read(round) / read(rounds[index] ?? round));
    const { median, least, most } = toRange(ratios);
    // Of five rounds, the true median is between these in 94 of 100 measurements.
    summary[title] = `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`;
  }
  return summary;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Compares the table with what was acknowledged, in the warm-up and the rounds together. */
async function findFaults(
  name: OperationName,
  { contestant: { title, url, rows }, before, runs }: Measured,
  { counted }: Operation,
): Promise<string[]> {
  const add = (value: Exclude<keyof Run, 'round'>): number => sum(runs.map((run) => run[value]));
  const [acknowledged, refused, unanswered] = [
    add('acknowledged'),
    add('refused'),
    add('unanswered'),
  ];
  const faults = refused === 0 ? [] : [`${title}: ${refused} refused: ${name}`];
  if (acknowledged === 0) faults.push(`${title}: none acknowledged: ${name}`);
  if (counted === undefined) return faults;
  const found = Math.abs((await count(url, counted)) - before);
  const most = acknowledged + unanswered;
  // A long load replaces rows again.
  const least = name === 'replace' ? Math.min(acknowledged, rows - unanswered) : acknowledged;
  if (found < least || found > most) {
    faults.push(`${title}: ${found} plants have changed, not ${least} to ${most}: ${name}`);
  }
  return faults;
}
