import { checkAnswers } from '../answers.mjs';
import { flushCost } from '../flush-cost.mjs';
import { freshIds, scatteredIds } from '../ids.mjs';
import { OPERATIONS } from '../operations.mjs';
import { processorMs } from '../process.mjs';
import { ContestantError, start } from '../server.mjs';
import { median, summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { inNewFolder, measureRate, rotate, roundsOf } from './round.mjs';

/** Plants that are there from the beginning: half of them to replace, half to remove. */
export const ROWS = 1_000_000;

const MEASURED = ['read', 'page', 'replace', 'remove'];

/**
 * The rates at which plants are read, listed, replaced and removed, each id once, and how many
 * times the others' rates the first contestant makes.
 */
export async function life(setting, contestants) {
  const rounds = [];
  for (const round of roundsOf(setting)) {
    const results = {};
    for (const contestant of rotate(contestants, round)) {
      results[contestant.name] = await inNewFolder(setting, contestant, (folder) =>
        measure(setting, contestant, folder),
      );
    }
    rounds.push(results);
  }
  for (const name of MEASURED) print(setting, contestants, rounds, name);
  return rounds;
}

/**
 * Starts a contestant on a table that is full, once it has made that.
 *
 * @returns {Promise<{ server: import('../server.mjs').Server & { urls: string[] }, created: number }>}
 *   with the number of plants that the starts have created
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

async function measure(setting, contestant, folder) {
  const { server, created } = await startFull(contestant, folder, ROWS);
  const flushMs = flushCost(folder);
  const results = {};
  for (const name of MEASURED) {
    const ids = scatteredIds(ROWS, name === 'remove' ? ROWS / 2 : 0);
    const before = await processorMs(server.pid);
    const tallies = await measureRate(setting, ids, OPERATIONS[name])(server);
    const counts = sums(tallies);
    const processorUs = (((await processorMs(server.pid)) - before) * 1_000) / counts.acknowledged;
    results[name] = { ...tallies.at(-1), ...counts, processorUs, flushMs };
  }
  await server.stop();

  const { replace, remove } = results;
  const gone = ROWS + created - (await contestant.stored(folder));
  const replaced = await contestant.replaced(folder);
  for (const [name, { refused }] of Object.entries(results)) {
    if (refused > 0) setting.faults.push(`${contestant.name}: ${refused} of ${name} refused`);
  }
  check(setting, `${contestant.name}: replace`, replace, replaced);
  check(setting, `${contestant.name}: remove`, remove, gone);
  return results;
}

/** A change without an answer may or may not be stored; any other has no choice. */
function check({ faults }, name, { acknowledged, unanswered }, stored) {
  if (stored >= acknowledged && stored <= acknowledged + unanswered) return;
  faults.push(`${name}: ${acknowledged} acknowledged, ${unanswered} unanswered, ${stored} stored`);
}

/** Of the warm-up and the measured load. */
function sums(tallies) {
  const sum = (key) => tallies.reduce((total, tally) => total + tally[key], 0);
  return Object.fromEntries(
    ['acknowledged', 'refused', 'unanswered'].map((key) => [key, sum(key)]),
  );
}

function print({ rounds, seconds, connections }, contestants, results, operation) {
  const { title } = OPERATIONS[operation];
  const of = ({ name }) => results.map((round) => round[name][operation]);
  const first = of(contestants[0]);
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
    contestants.map((contestant) => {
      const runs = of(contestant);
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
