import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { endWithUs } from '../children.mjs';
import { crowd } from '../crowd.mjs';
import { flushCost } from '../flush-cost.mjs';
import { freshIds } from '../ids.mjs';
import { openImport, writeLines } from '../lines.mjs';
import { processorMs } from '../process.mjs';
import { start } from '../server.mjs';
import { median, summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { inNewFolder, rotate, countRounds } from './round.mjs';

/** The lines of an import that is measured alone. */
const LINES = 200_000;
const SENDER = fileURLToPath(new URL('../send-lines.mjs', import.meta.url));

/**
 * Measures how many lines of an import each contestant stores per second, the ratio of the first
 * one's rate to the others, and the rate and latency of single creates during an import.
 */
export async function importing(setting, contestants) {
  const [first] = contestants;
  const file = path.join(setting.folder, 'lines.ndjson');
  await writeFile(file, writeLines(0, LINES));
  const rounds = [];
  for (const round of countRounds(setting)) {
    const results = {};
    for (const contestant of rotate(contestants, round)) {
      results[contestant.name] = await inNewFolder(setting, contestant, (folder) =>
        importFile(setting, contestant, folder, file),
      );
    }
    results.alone = await createBeside(setting, first, false);
    results.beside = await createBeside(setting, first, true);
    rounds.push(results);
  }
  print(setting, contestants, rounds);
  return { lines: LINES, rounds };
}

async function importFile({ faults }, contestant, folder, file) {
  const flushMs = flushCost(folder);
  const server = await start(contestant, folder, freshIds());
  const before = await processorMs(server.pid);
  const began = performance.now();
  const { request, result } = openImport(server);
  await pipeline(createReadStream(file), request);
  const { created } = await result;
  const seconds = (performance.now() - began) / 1_000;
  const processorUs = (((await processorMs(server.pid)) - before) * 1_000) / LINES;
  await server.stop();
  // The first create is the one that detected the start.
  const stored = (await contestant.stored(folder)) - 1;
  if (created !== LINES || stored !== LINES) {
    faults.push(`${contestant.name}: of ${LINES} lines ${created} created, ${stored} stored`);
  }
  return { rate: LINES / seconds, processorUs, flushMs };
}

/**
 * Measures the rate and the latency of single creates, alone or while another program imports
 * lines.
 */
async function createBeside(setting, contestant, isImporting) {
  const { connections, warmUp, seconds } = setting;
  return await inNewFolder(setting, contestant, async (folder) => {
    const ids = freshIds();
    const server = await start(contestant, folder, ids);
    const { url, token } = server;
    const sender = isImporting ? spawn(process.execPath, [SENDER, url, token]) : undefined;
    if (sender) endWithUs(sender);
    const load = { url, token, rate: Infinity, connections, warmUp, seconds, ids };
    const { during, latency } = await crowd(load);
    sender?.kill();
    await server.stop();
    return {
      rate: during.acknowledged / during.seconds,
      p99: latency.accepted.percentile(99) / 1_000,
    };
  });
}

function print({ rounds: count, connections, seconds }, contestants, rounds) {
  const [first] = contestants;
  const row = (title, name, creates) => {
    const of = (key) => rounds.map((results) => results[name][key]);
    const ratio = summarize(rounds.map((results) => results[first.name].rate / results[name].rate));
    return [
      title,
      formatNumber(median(of('rate'))),
      formatRange(summarize(of('rate'))),
      creates ? '-' : formatNumber(ratio.median, 2),
      creates ? '-' : formatRange(ratio, 2),
      creates ? '-' : formatNumber(median(of('processorUs')), 1),
      creates ? formatNumber(median(of('p99')), 1) : '-',
    ];
  };
  printTable(
    `Imports of ${formatNumber(LINES)} lines, and creates on ${connections} connections: ${count} rounds, of ${seconds} s for creates`,
    ['', 'rows/s', 'min .. max', 'ratio', 'min .. max', 'cpu us', 'p99 ms'],
    [
      ...contestants.map(({ title, name }) => row(title, name, false)),
      row('creates alone', 'alone', true),
      row('creates beside an import', 'beside', true),
    ],
  );
  const share = median(rounds.map(({ alone, beside }) => beside.rate / alone.rate));
  const delay = median(rounds.map(({ alone, beside }) => beside.p99 / alone.p99));
  console.log(
    `Beside an import creates keep ${share.toFixed(2)} of their rate, at ${delay.toFixed(1)} times their p99`,
  );
}
