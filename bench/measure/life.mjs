import { rm } from 'node:fs/promises';
import { checkAnswers } from '../answers.mjs';
import { flushCost } from '../flush-cost.mjs';
import { freshIds, scatteredIds } from '../ids.mjs';
import { OPERATIONS } from '../operations.mjs';
import { processorMs } from '../process.mjs';
import { ContestantError, start } from '../server.mjs';
import { median, summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { measureRate, newFolder, rotate, countRounds } from './round.mjs';

/** The plants in the table at the start. */
export const ROWS = 1_000_000;

const MEASURED = ['read', 'page', 'replace', 'remove'];

/**
 * Measures the rates at which plants are read, listed, replaced and removed, each id once, and the
 * ratios of the first contestant's rates to the others. All contestants are started before and idle
 * while another one is measured, so that the runs of a round are close to each other.
 */
export async function life(setting, contestants) {
  const started = [];
  for (const contestant of contestants) {
    const folder = await newFolder(setting, contestant);
    started.push({ contestant, folder, ...(await startFull(contestant, folder, ROWS)), runs: {} });
  }
  for (const name of MEASURED) {
    console.error(OPERATIONS[name].title);
    for (const one of started) Object.assign(one, { ids: scatteredIds(ROWS) });
    for (const one of started) one.runs[name] = [];
    for (const round of countRounds(setting)) {
      for (const one of rotate(started, round))
        one.runs[name].push(await measure(setting, one, name));
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

/**
 * Starts a contestant on a filled table, which the contestant has created before.
 *
 * @returns {Promise<{ server: import('../server.mjs').Server & { urls: string[] }, created: number
 *   }>} with the number of plants that the starts have created
 */
export async function startFull(contestant, folder, rows) {
  const ids = freshIds('ascending', rows + 1);
  await (await start(contestant, folder, ids)).stop();
  await contestant.fill(folder, rows);
  const server = await start(contestant, folder, ids);
  try {
    await checkAnswers(server);
  } catch (error) {
    throw new ContestantError(`${contestant.name}: ${error.message}`, { cause: error });
  }
  return { server: { ...server, urls: [server.url] }, created: 2 };
}

async function measure(setting, { folder, server, ids }, name) {
  const flushMs = flushCost(folder);
  const before = await processorMs(server.pid);
  const tallies = await measureRate(setting, ids, OPERATIONS[name])(server);
  const counts = sums(tallies);
  const processor = (await processorMs(server.pid)) - before;
  const processorUs = (processor * 1_000) / counts.acknowledged;
  return { ...tallies.at(-1), ...counts, processorUs, flushMs };
}

/** A change without an answer may or may not be stored; the outcome of any other is known. */
async function check({ faults }, { contestant, folder, created, runs }, name) {
  const { acknowledged, refused, unanswered } = sums(runs[name]);
  const title = `${contestant.name}: ${OPERATIONS[name].title}`;
  if (refused > 0) faults.push(`${title}: ${refused} refused`);
  let stored = acknowledged;
  if (name === 'replace') stored = await contestant.replaced(folder);
  if (name === 'remove') stored = ROWS + created - (await contestant.stored(folder));
  if (stored >= acknowledged && stored <= acknowledged + unanswered) return;
  faults.push(`${title}: ${acknowledged} acknowledged, ${unanswered} unanswered, ${stored} stored`);
}

/** Adds up the tallies of consecutive loads. */
function sums(tallies) {
  const sum = (key) => tallies.reduce((total, tally) => total + tally[key], 0);
  return Object.fromEntries(
    ['acknowledged', 'refused', 'unanswered'].map((key) => [key, sum(key)]),
  );
}

function print({ rounds, seconds, connections }, started, operation) {
  const { title } = OPERATIONS[operation];
  const first = started[0].runs[operation];
  printTable(
    `Of ${formatNumber(ROWS)} plants, ${title}: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    [
      '',
      'a second',
      'min .. max',
      'ratio',
      'min .. max',
      'cpu us',
      'flush ms',
      'refused',
      'unanswered',
    ],
    started.map(({ contestant, runs: { [operation]: runs } }) => {
      const rate = summarize(runs.map((run) => run.rate));
      const ratio = summarize(runs.map((run, round) => first[round].rate / run.rate));
      const sum = (key) => runs.reduce((total, run) => total + run[key], 0);
      return [
        contestant.title,
        formatNumber(rate.median),
        formatRange(rate),
        formatNumber(ratio.median, 2),
        formatRange(ratio, 2),
        formatNumber(median(runs.map(({ processorUs }) => processorUs))),
        formatNumber(median(runs.map(({ flushMs }) => flushMs)), 2),
        formatNumber(sum('refused')),
        formatNumber(sum('unanswered')),
      ];
    }),
  );
}
