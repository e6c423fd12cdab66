import { TOKEN } from '../contestants.mjs';
import { freshIds } from '../ids.mjs';
import { openLoop } from '../open-loop.mjs';
import { median, summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { inNewFolder, rotate, countRounds, runAndCount } from './round.mjs';

const PERCENTILES = [50, 99, 99.9];

/** Measures how long a create takes when creates arrive at a fixed rate. */
export async function fixedRate(setting, contestants, rate) {
  const runs = [];
  for (const round of countRounds(setting)) {
    for (const contestant of rotate(contestants, round)) {
      runs.push({ name: contestant.name, ...(await measure(setting, contestant, rate)) });
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
    contestants.map((contestant) => formatCells(contestant, runs)),
  );
  return { rate, runs };
}

async function measure(setting, contestant, rate) {
  const ids = freshIds();
  const load = async ({ url }) => {
    const options = { url, token: TOKEN, rate, connections: setting.connections, ids };
    const warm = await openLoop({ ...options, seconds: setting.warmUp });
    return [warm, await openLoop({ ...options, seconds: setting.seconds })];
  };
  const { latency, lateness, ...counts } = await inNewFolder(setting, contestant, (folder) =>
    runAndCount(setting, contestant, folder, ids, load),
  );
  const latencyMs = PERCENTILES.map((p) => latency.percentile(p) / 1_000);
  return { ...counts, latencyMs, latenessP99Ms: lateness.percentile(99) / 1_000 };
}

function formatCells({ name, title }, allRuns) {
  const runs = allRuns.filter((run) => run.name === name);
  const percentiles = PERCENTILES.flatMap((_, index) => {
    const summary = summarize(runs.map(({ latencyMs }) => latencyMs[index]));
    return [formatNumber(summary.median, 1), formatRange(summary, 1)];
  });
  const late = median(runs.map(({ latenessP99Ms }) => latenessP99Ms));
  const flush = median(runs.map(({ flushMs }) => flushMs));
  const failed = runs.reduce((sum, { refused, unanswered }) => sum + refused + unanswered, 0);
  return [
    title,
    ...percentiles,
    formatNumber(late, 1),
    formatNumber(flush, 2),
    formatNumber(failed),
  ];
}
