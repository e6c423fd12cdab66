import { flushCost } from '../flush-cost.mjs';
import { freshIds } from '../ids.mjs';
import { summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { inNewFolder, measureRate, rotate, runAndCount } from './round.mjs';

/**
 * The rate of creates of every contestant, in rounds, and how many times the others' rate the
 * first one makes. A ratio is of two runs of one round, so that a slow spell of the machine hits
 * both sides.
 */
export async function compare(setting, contestants, title) {
  const rounds = [];
  for (let round = 0; round < setting.rounds; round += 1) {
    rounds.push(await measureRound(setting, rotate(contestants, round)));
  }
  const result = summarizeRounds(contestants, rounds);
  print(setting, result, title);
  return { title, ...result, rounds };
}

async function measureRound(setting, contestants) {
  const results = {};
  const flushMs = await inNewFolder(setting, { name: 'flush' }, flushCost);
  for (const contestant of contestants) {
    const ids = freshIds();
    results[contestant.name] = await inNewFolder(setting, contestant, (folder) =>
      runAndCount(setting, contestant, folder, ids, measureRate(setting, ids)),
    );
  }
  return { flushMs, results };
}

function summarizeRounds(contestants, rounds) {
  const [first] = contestants;
  const sum = (name, key) => rounds.reduce((total, { results }) => total + results[name][key], 0);
  const summaries = contestants.map(({ name, title, stored }) => ({
    name,
    title,
    rate: summarize(rounds.map(({ results }) => results[name].rate)),
    ratio: summarize(rounds.map(({ results }) => results[first.name].rate / results[name].rate)),
    refused: sum(name, 'refused'),
    unanswered: sum(name, 'unanswered'),
    acknowledged: sum(name, 'acknowledged'),
    stored: stored && sum(name, 'stored'),
  }));
  return { flushMs: summarize(rounds.map(({ flushMs }) => flushMs)), contestants: summaries };
}

function print({ rounds, seconds, connections }, { flushMs, contestants }, title) {
  const cells = ({ title, rate, ratio, refused, unanswered, acknowledged, stored }) => [
    title,
    formatNumber(rate.median),
    formatRange(rate),
    formatNumber(ratio.median, 2),
    formatRange(ratio, 2),
    formatNumber(refused + unanswered),
    formatNumber(acknowledged),
    stored === undefined ? '-' : formatNumber(stored),
  ];
  printTable(
    `${title}: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    ['', 'creates/s', 'min .. max', 'ratio', 'min .. max', 'not 200', 'acknowledged', 'stored'],
    contestants.map(cells),
  );
  console.log(
    `\nratio: the rate of the first line in this line's, round by round, and the median of that.` +
      `\nThe disk flushes a small append in ${formatNumber(flushMs.median, 3)} ms` +
      ` (${formatRange(flushMs, 3)}).`,
  );
}
