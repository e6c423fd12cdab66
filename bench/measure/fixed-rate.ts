import type { Contestant } from '../contestants.js';
import { freshIds } from '../ids.js';
import { openLoop } from '../open-loop.js';
import { median, summarize } from '../statistics.js';
import { formatNumber, formatRange, printTable } from '../table.js';
import { type Counted, rotate, countRounds, runAndCount, type Setting } from './round.js';

const PERCENTILES = [50, 99, 99.9];

interface Run extends Counted {
  readonly name: string;
  /** At each of the percentiles. */
  readonly latencyMs: readonly number[];
  readonly latenessP99Ms: number;
}

/** Measures how long a create takes when creates arrive at a fixed rate. */
export async function fixedRate(
  setting: Setting,
  contestants: readonly Contestant[],
  rate: number,
): Promise<{ rate: number; runs: Run[] }> {
  const runs: Run[] = [];
  for (const round of countRounds(setting)) {
    for (const contestant of rotate(contestants, round)) {
      runs.push(await measure(setting, contestant, rate));
    }
  }
  printTable(
    `Latency in ms at ${rate} creates/s, open loop: ${setting.rounds} rounds of ${setting.seconds} s`,
    [
      '',
      ...PERCENTILES.flatMap((p) => [`p${p}`, 'min .. max']),
      'client late p99',
      'flush',
      'not 200',
    ],
    contestants.map(({ name, title }) => [
      title,
      ...formatCells(runs.filter((run) => run.name === name)),
    ]),
  );
  return { rate, runs };
}

async function measure(setting: Setting, contestant: Contestant, rate: number): Promise<Run> {
  const { connections, warmUp, seconds } = setting;
  const ids = freshIds();
  const { latency, lateness, ...counted } = await runAndCount(
    setting,
    contestant,
    ids,
    async ([{ url }]) => {
      const options = { url, rate, connections, ids };
      const warmedUp = await openLoop({ ...options, seconds: warmUp });
      return [await openLoop({ ...options, seconds }), warmedUp];
    },
  );
  return {
    name: contestant.name,
    ...counted,
    latencyMs: PERCENTILES.map((p) => latency.percentile(p) / 1_000),
    latenessP99Ms: lateness.percentile(99) / 1_000,
  };
}

function formatCells(runs: readonly Run[]): string[] {
  const percentiles = PERCENTILES.flatMap((_, index) => {
    const summary = summarize(runs.map(({ latencyMs }) => latencyMs[index] ?? NaN));
    return [formatNumber(summary.median, 1), formatRange(summary, 1)];
  });
  const late = median(runs.map(({ latenessP99Ms }) => latenessP99Ms));
  const flush = median(runs.map(({ flushMs }) => flushMs));
  const failed = runs.reduce((sum, { refused, unanswered }) => sum + refused + unanswered, 0);
  return [...percentiles, formatNumber(late, 1), formatNumber(flush, 2), formatNumber(failed)];
}
