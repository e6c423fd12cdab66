import { freshIds } from '../ids.mjs';
import { summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { inNewFolder, measureRate, rotate, countRounds, runAndCount } from './round.mjs';

/**
 * Measures the rate of creates of every contestant, in rounds, and the ratio of the first one's
 * rate to each other rate. A ratio compares two runs of the same round, so that a slow period of
 * the machine affects both.
 */
export async function compare(setting, contestants, title) {
  const rounds = [];
  for (const round of countRounds(setting)) {
    rounds.push(await measureRound(setting, rotate(contestants, round)));
  }
  const summaries = summarizeRounds(contestants, rounds);
  print(setting, summaries, title);
  return { contestants: summaries, rounds };
}

async function measureRound(setting, contestants) {
  const results = {};
  for (const contestant of contestants) {
    const ids = freshIds();
    results[contestant.name] = await inNewFolder(setting, contestant, (folder) =>
      runAndCount(setting, contestant, folder, ids, measureRate(setting, ids)),
    );
  }
  return results;
}

function summarizeRounds(contestants, rounds) {
  const [first] = contestants;
  const listValues = (name, key) => rounds.map((results) => results[name][key]);
  const sum = (name, key) => listValues(name, key).reduce((total, value) => total + value, 0);
  return contestants.map(({ name, title, stored }) => ({
    name,
    title,
    rate: summarize(listValues(name, 'rate')),
    ratio: summarize(rounds.map((results) => results[first.name].rate / results[name].rate)),
    flushMs: summarize(listValues(name, 'flushMs')),
    refused: sum(name, 'refused'),
    unanswered: sum(name, 'unanswered'),
    acknowledged: sum(name, 'acknowledged'),
    stored: stored && sum(name, 'stored'),
  }));
}

function print({ rounds, seconds, connections }, summaries, title) {
  const cells = ({ title, rate, ratio, flushMs, refused, unanswered, acknowledged, stored }) => [
    title,
    formatNumber(rate.median),
    formatRange(rate),
    formatNumber(ratio.median, 2),
    formatRange(ratio, 2),
    formatNumber(flushMs.median, 2),
    formatRange(flushMs, 2),
    formatNumber(refused + unanswered),
    formatNumber(acknowledged),
    stored === undefined ? '-' : formatNumber(stored),
  ];
  printTable(
    `${title}: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    [
      ...['', 'creates/s', 'min .. max', 'ratio', 'min .. max', 'flush ms', 'min .. max'],
      ...['not 200', 'acknowledged', 'stored'],
    ],
    summaries.map(cells),
  );
  console.log(
    `\nratio: the rate of the first line in this line's, round by round, and the median of that.` +
      `\nflush: what the disk took to flush a small append just before each run.`,
  );
}
