import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { endWithUs } from '../children.js';
import type { TableContestant } from '../contestants.js';
import { crowd } from '../crowd.js';
import { freshIds } from '../ids.js';
import { openImport, writeLines } from '../lines.js';
import { flushCost, processorMs } from '../machine.js';
import { start } from '../server.js';
import { median, summarize, summarizeRatio } from '../statistics.js';
import { formatNumber, formatRange, printTable } from '../table.js';
import { inNewFolder, rotate, countRounds, type Setting } from './round.js';

/** The lines of an import that is measured alone. */
const LINES = 200_000;
const SENDER = fileURLToPath(new URL('../send-lines.ts', import.meta.url));

interface ImportRun {
  /** Rows per second. */
  readonly rate: number;
  /** The processor time for each line. */
  readonly processorUs: number;
  readonly flushMs: number;
}

interface CreateRun {
  /** Creates per second. */
  readonly rate: number;
  /** The latency in milliseconds. */
  readonly p99: number;
}

interface Importer {
  readonly contestant: TableContestant;
  readonly runs: ImportRun[];
}

interface Imported {
  readonly lines: number;
  readonly imports: readonly { name: string; runs: readonly ImportRun[] }[];
  /** Single creates of the first contestant, alone and then beside an import. */
  readonly alone: readonly CreateRun[];
  readonly beside: readonly CreateRun[];
}

/**
 * Measures how many lines of an import each contestant stores per second, the ratio of the first
 * one's rate to the others, and the rate and latency of single creates during an import.
 */
export async function importing(
  setting: Setting,
  first: TableContestant,
  others: readonly TableContestant[],
): Promise<Imported> {
  const file = path.join(setting.folder, 'lines.ndjson');
  await writeFile(file, writeLines(0, LINES));
  const importers = [first, ...others].map((contestant): Importer => ({ contestant, runs: [] }));
  const [alone, beside]: [CreateRun[], CreateRun[]] = [[], []];
  for (const round of countRounds(setting)) {
    for (const { contestant, runs } of rotate(importers, round)) {
      runs.push(await importFile(setting, contestant, file));
    }
    alone.push(await createBeside(setting, first, false));
    beside.push(await createBeside(setting, first, true));
  }
  print(setting, importers, alone, beside);
  const imports = importers.map(({ contestant: { name }, runs }) => ({ name, runs }));
  return { lines: LINES, imports, alone, beside };
}

async function importFile(
  setting: Setting,
  contestant: TableContestant,
  file: string,
): Promise<ImportRun> {
  return await inNewFolder(setting, contestant, async (folder) => {
    const flushMs = flushCost(folder);
    const server = await start(contestant, folder, freshIds());
    const before = await processorMs(server.pid);
    const began = performance.now();
    const { request, result } = openImport(server.url);
    await pipeline(createReadStream(file), request);
    const { created } = await result;
    const seconds = (performance.now() - began) / 1_000;
    const processorUs = (((await processorMs(server.pid)) - before) * 1_000) / LINES;
    await server.stop();
    // The first create is the one that detected the start.
    const stored = (await contestant.stored(folder)) - 1;
    if (created !== LINES || stored !== LINES) {
      const counts = `of ${LINES} lines ${created} created, ${stored} stored`;
      setting.faults.push(`${contestant.name}: ${counts}`);
    }
    return { rate: LINES / seconds, processorUs, flushMs };
  });
}

/**
 * Measures the rate and the latency of single creates, alone or while another program imports
 * lines.
 */
async function createBeside(
  setting: Setting,
  contestant: TableContestant,
  isImporting: boolean,
): Promise<CreateRun> {
  const { connections, warmUp, seconds } = setting;
  return await inNewFolder(setting, contestant, async (folder) => {
    const ids = freshIds();
    const { url, stop } = await start(contestant, folder, ids);
    const sender = isImporting ? await startSender(url) : undefined;
    const { during, latency } = await crowd({
      url,
      rate: Infinity,
      connections,
      warmUp,
      seconds,
      ids,
    });
    sender?.kill();
    await stop();
    return {
      rate: during.acknowledged / during.seconds,
      p99: latency.accepted.percentile(99) / 1_000,
    };
  });
}

/** Starts a program that imports lines, and waits until it does. */
async function startSender(url: string): Promise<ChildProcess> {
  const command = ['--import', import.meta.resolve('tsx'), SENDER, url];
  const sender = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  endWithUs(sender);
  await Promise.race([once(sender.stdout, 'data'), once(sender, 'exit')]);
  if (sender.exitCode !== null) throw new Error('the import beside creates has not begun');
  return sender;
}

function print(
  { rounds, connections, seconds }: Setting,
  importers: readonly Importer[],
  alone: readonly CreateRun[],
  beside: readonly CreateRun[],
): void {
  const [first = []] = importers.map(({ runs }) => runs);
  const formatCells = (runs: readonly { rate: number }[]): string[] => {
    const rate = summarize(runs.map((run) => run.rate));
    return [formatNumber(rate.median), formatRange(rate)];
  };
  const formatCreates = (title: string, runs: readonly CreateRun[]): string[] => {
    const p99 = median(runs.map((run) => run.p99));
    return [title, ...formatCells(runs), '-', '-', '-', formatNumber(p99, 1)];
  };
  printTable(
    `Imports of ${formatNumber(LINES)} lines, and creates on ${connections} connections: ${rounds} rounds, of ${seconds} s for creates`,
    ['', 'rows/s', 'min .. max', 'ratio', 'min .. max', 'cpu us', 'p99 ms'],
    [
      ...importers.map(({ contestant: { title }, runs }) => {
        const ratio = summarizeRatio(first, runs);
        const processorUs = median(runs.map((run) => run.processorUs));
        return [
          title,
          ...formatCells(runs),
          formatNumber(ratio.median, 2),
          formatRange(ratio, 2),
          formatNumber(processorUs, 1),
          '-',
        ];
      }),
      formatCreates('creates alone', alone),
      formatCreates('creates beside an import', beside),
    ],
  );
  const share = summarizeRatio(beside, alone).median;
  const delay = median(beside.map(({ p99 }, round) => p99 / (alone[round]?.p99 ?? NaN)));
  console.log(
    `Beside an import creates keep ${share.toFixed(2)} of their rate, at ${delay.toFixed(1)} times their p99`,
  );
}
