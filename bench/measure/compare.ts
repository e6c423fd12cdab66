import type { Contestant } from '../contestants.js';
import { freshIds } from '../ids.js';
import type { Counts } from '../load.js';
import { median, type Summary, summarize, summarizeRatio } from '../statistics.js';
import { formatNumber, formatRange, printTable } from '../table.js';
import {
  addUp,
  type Counted,
  type Measurement,
  measureRate,
  rotate,
  countRounds,
  runAndCount,
  type Setting,
} from './round.js';

type Run = Measurement & Counted;

/** The summary of all runs of a contestant. */
export interface Compared extends Counts {
  readonly name: string;
  readonly title: string;
  readonly rate: Summary;
  /** The rate of the first contestant as a multiple of this one. */
  readonly ratio: Summary;
  /** The median of the runs. */
  readonly processorUs: number;
  readonly flushMs: Summary;
  readonly stored: number | undefined;
}

export interface Comparison {
  readonly contestants: readonly Compared[];
  /** The runs of each round, by the names of the contestants. */
  readonly rounds: readonly Record<string, Run>[];
}

/**
 * Measures the rate of creates of every contestant, in rounds, and the ratio of the first one's
 * rate to each other rate. A ratio compares two runs of the same round, so that a slow period of
 * the machine affects both.
 */
export async function compare(
  setting: Setting,
  contestants: readonly Contestant[],
  title: string,
): Promise<Comparison> {
  const rounds: Record<string, Run>[] = [];
  for (const round of countRounds(setting)) {
    const results: Record<string, Run> = {};
    for (const contestant of rotate(contestants, round)) {
      const ids = freshIds();
      results[contestant.name] = await runAndCount(
        setting,
        contestant,
        ids,
        measureRate(setting, ids),
      );
    }
    rounds.push(results);
  }
  const listRuns = ({ name }: Contestant): Run[] =>
    rounds.flatMap((results) => results[name] ?? []);
  const [first = []] = contestants.map(listRuns);
  const summaries = contestants.map((contestant) => {
    const { name, title, stored } = contestant;
    const runs = listRuns(contestant);
    return {
      name,
      title,
      rate: summarize(runs.map(({ rate }) => rate)),
      ratio: summarizeRatio(first, runs),
      processorUs: median(runs.map(({ processorUs }) => processorUs)),
      flushMs: summarize(runs.map(({ flushMs }) => flushMs)),
      ...addUp(runs),
      stored: stored && runs.reduce((total, run) => total + (run.stored ?? 0), 0),
    };
  });
  print(setting, summaries, title);
  return { contestants: summaries, rounds };
}

function print(
  { rounds, seconds, connections }: Setting,
  summaries: readonly Compared[],
  title: string,
): void {
  printTable(
    `${title}: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    [
      ...['', 'creates/s', 'min .. max', 'ratio', 'min .. max', 'cpu us'],
      ...['flush ms', 'min .. max', 'not 200', 'acknowledged', 'stored'],
    ],
    summaries.map((compared) => [
      compared.title,
      formatNumber(compared.rate.median),
      formatRange(compared.rate),
      formatNumber(compared.ratio.median, 2),
      formatRange(compared.ratio, 2),
      formatNumber(compared.processorUs, 1),
      formatNumber(compared.flushMs.median, 2),
      formatRange(compared.flushMs, 2),
      formatNumber(compared.refused + compared.unanswered),
      formatNumber(compared.acknowledged),
      compared.stored === undefined ? '-' : formatNumber(compared.stored),
    ]),
  );
  console.log(
    `\nratio: the rate of the first line in this line's, round by round, and the median of that.` +
      `\ncpu us: the processor time of the service for each create.` +
      `\nflush: the time in which the disk flushed a small append just before each run.`,
  );
}
