import { rm } from 'node:fs/promises';
import { checkAnswers } from '../answers.js';
import type { TableContestant } from '../contestants.js';
import { freshIds, type Ids, scatteredIds } from '../ids.js';
import { flushCost } from '../machine.js';
import { OPERATIONS } from '../operations.js';
import { ContestantError, type Server, start } from '../server.js';
import { median, sum, summarize, summarizeRatio } from '../statistics.js';
import { formatNumber, formatRange, printTable } from '../table.js';
import {
  addUp,
  countRounds,
  type Measurement,
  measureRate,
  newFolder,
  rotate,
  type Setting,
} from './round.js';

/** The plants in the table at the start. */
const ROWS = 1_000_000;
/** Plants that the two starts of a contestant create. */
const CREATED = 2;

const MEASURED = ['read', 'page', 'replace', 'remove'] as const;
type Measured = (typeof MEASURED)[number];

/** The rate of a measured load, and the counts of that and of its warm-up. */
interface Run extends Measurement {
  readonly flushMs: number;
}

interface Started {
  readonly contestant: TableContestant;
  readonly folder: string;
  readonly server: Server;
  readonly runs: Record<Measured, Run[]>;
}

/**
 * Measures the rates at which plants are read, listed, replaced and removed, each id once, and the
 * ratios of the first contestant's rates to the others. All contestants are started before and idle
 * while another one is measured, so that the runs of a round are close to each other.
 */
export async function life(
  setting: Setting,
  contestants: readonly TableContestant[],
): Promise<{ name: string; runs: Started['runs'] }[]> {
  const started: Started[] = [];
  for (const contestant of contestants) {
    const folder = await newFolder(setting, contestant);
    const server = await startFull(contestant, folder);
    const runs = { read: [], page: [], replace: [], remove: [] };
    started.push({ contestant, folder, server, runs });
  }
  for (const name of MEASURED) {
    console.error(OPERATIONS[name].title);
    const loads = started.map((one) => ({ one, ids: scatteredIds(ROWS) }));
    for (const round of countRounds(setting)) {
      for (const { one, ids } of rotate(loads, round)) {
        one.runs[name].push(await measure(setting, one, ids, name));
      }
    }
    for (const one of started) await check(setting, one, name);
  }
  for (const { contestant, folder, server } of started) {
    await server.stop();
    await contestant.clear?.(folder);
    await rm(folder, { recursive: true });
  }
  for (const name of MEASURED) print(setting, started, name);
  return started.map(({ contestant, runs }) => ({ name: contestant.name, runs }));
}

/** Starts a contestant on a filled table, which the contestant has created before. */
async function startFull(contestant: TableContestant, folder: string): Promise<Server> {
  const ids = freshIds(ROWS + 1);
  await (await start(contestant, folder, ids)).stop();
  await contestant.fill(folder, ROWS);
  const server = await start(contestant, folder, ids);
  try {
    await checkAnswers(server.url);
  } catch (error) {
    const { message } = error as Error;
    throw new ContestantError(`${contestant.name}: ${message}`, { cause: error });
  }
  return server;
}

async function measure(
  setting: Setting,
  { folder, server }: Started,
  ids: Ids,
  name: Measured,
): Promise<Run> {
  const flushMs = flushCost(folder);
  const tallies = await measureRate(setting, ids, OPERATIONS[name])([server]);
  return { ...tallies[0], ...addUp(tallies), flushMs };
}

/** A change without an answer may or may not be stored; the outcome of any other is known. */
async function check(
  { faults }: Setting,
  { contestant, folder, runs }: Started,
  name: Measured,
): Promise<void> {
  const { acknowledged, refused, unanswered } = addUp(runs[name]);
  const title = `${contestant.name}: ${OPERATIONS[name].title}`;
  if (refused > 0) faults.push(`${title}: ${refused} refused`);
  let stored = acknowledged;
  if (name === 'replace') stored = await contestant.replaced(folder);
  if (name === 'remove') stored = ROWS + CREATED - (await contestant.stored(folder));
  if (stored >= acknowledged && stored <= acknowledged + unanswered) return;
  faults.push(`${title}: ${acknowledged} acknowledged, ${unanswered} unanswered, ${stored} stored`);
}

function print(
  { rounds, seconds, connections }: Setting,
  started: readonly Started[],
  name: Measured,
): void {
  const { title } = OPERATIONS[name];
  const [first = []] = started.map(({ runs }) => runs[name]);
  printTable(
    `Of ${formatNumber(ROWS)} plants, ${title}: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    [
      ...['', 'per second', 'min .. max', 'ratio', 'min .. max', 'cpu us', 'flush ms'],
      ...['refused', 'unanswered'],
    ],
    started.map(({ contestant, runs: { [name]: runs } }) => {
      const rate = summarize(runs.map((run) => run.rate));
      const ratio = summarizeRatio(first, runs);
      return [
        contestant.title,
        formatNumber(rate.median),
        formatRange(rate),
        formatNumber(ratio.median, 2),
        formatRange(ratio, 2),
        formatNumber(median(runs.map(({ processorUs }) => processorUs))),
        formatNumber(median(runs.map(({ flushMs }) => flushMs)), 2),
        formatNumber(sum(runs, 'refused')),
        formatNumber(sum(runs, 'unanswered')),
      ];
    }),
  );
}
