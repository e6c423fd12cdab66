import { rm } from 'node:fs/promises';
import { databaseIn, program } from '../contestants.mjs';
import { countRows, preload } from '../database.mjs';
import { flushCost } from '../flush-cost.mjs';
import { freshIds } from '../ids.mjs';
import { start } from '../server.mjs';
import { summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { measureRate, newFolder, rotate, runAndCount } from './round.mjs';

const MILLION = 1_000_000;

/**
 * The rate of creates with that many million rows in the table, for ascending and for random ids.
 * A table keeps what a round adds, but for the empty one, which every round makes anew.
 */
export async function rows(setting, millions) {
  const contestant = program();
  const tables = [];
  for (const order of ['ascending', 'random']) {
    for (const million of millions)
      tables.push(await newTable(setting, contestant, order, million));
  }
  const flushes = [];
  for (let round = 0; round < setting.rounds; round += 1) {
    flushes.push(flushCost(setting.folder));
    for (const table of rotate(tables, round)) await measure(setting, contestant, table);
  }
  for (const { folder } of tables) await rm(folder, { recursive: true });
  const flushMs = summarize(flushes);
  print(setting, tables, flushMs);
  return { flushMs, tables: tables.map(({ order, rows, runs }) => ({ order, rows, runs })) };
}

async function newTable(setting, contestant, order, million) {
  const rows = Math.round(million * MILLION);
  const folder = await newFolder(setting, contestant);
  const table = { order, rows, folder, ids: freshIds(order, rows + 1), runs: [] };
  if (rows > 0) {
    await (await start(contestant, folder, table.ids)).stop();
    preload(databaseIn(folder), rows, order);
  }
  return table;
}

async function measure(setting, contestant, table) {
  if (table.rows === 0) {
    await rm(table.folder, { recursive: true });
    table.folder = await newFolder(setting, contestant);
  }
  const before = table.rows === 0 ? 0 : countRows(databaseIn(table.folder));
  const load = measureRate(setting, table.ids);
  table.runs.push({
    before,
    ...(await runAndCount(setting, contestant, table.folder, table.ids, load, before)),
  });
}

function print({ rounds, seconds, connections }, tables, flushMs) {
  printTable(
    `Creates/s by rows in the table: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    ['', 'rows', 'creates/s', 'min .. max', 'of the first', 'min .. max', 'not 200'],
    tables.map((table) => {
      const first = tables.find(({ order }) => order === table.order);
      const rate = summarize(table.runs.map(({ rate }) => rate));
      const ratio = summarize(table.runs.map(({ rate }, run) => rate / first.runs[run].rate));
      return [
        `${table.order} ids`,
        formatNumber(table.rows),
        formatNumber(rate.median),
        formatRange(rate),
        formatNumber(ratio.median, 2),
        formatRange(ratio, 2),
        formatNumber(table.runs.reduce((sum, run) => sum + run.refused + run.unanswered, 0)),
      ];
    }),
  );
  console.log(`\nThe disk flushes a small append in ${formatNumber(flushMs.median, 3)} ms.`);
}
