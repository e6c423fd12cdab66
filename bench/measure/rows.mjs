import { rm } from 'node:fs/promises';
import { databaseIn, program } from '../contestants.mjs';
import { countRows, preload } from '../database.mjs';
import { freshIds } from '../ids.mjs';
import { start } from '../server.mjs';
import { median, summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { measureRate, newFolder, rotate, roundsOf, runAndCount } from './round.mjs';

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
  for (const round of roundsOf(setting)) {
    for (const table of rotate(tables, round)) await measure(setting, contestant, table);
  }
  for (const { folder } of tables) await rm(folder, { recursive: true });
  print(setting, tables);
  return tables.map(({ order, rows, runs }) => ({ order, rows, runs }));
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

function print({ rounds, seconds, connections }, tables) {
  printTable(
    `Creates/s by rows in the table: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    ['', 'rows', 'creates/s', 'min .. max', 'of the first', 'min .. max', 'flush ms', 'not 200'],
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
        formatNumber(median(table.runs.map(({ flushMs }) => flushMs)), 2),
        formatNumber(table.runs.reduce((sum, run) => sum + run.refused + run.unanswered, 0)),
      ];
    }),
  );
}
