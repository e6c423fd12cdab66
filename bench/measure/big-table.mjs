import { rm } from 'node:fs/promises';
import http from 'node:http';
import { performance } from 'node:perf_hooks';
import { ask, nextOf } from '../answers.mjs';
import { program } from '../contestants.mjs';
import { freshIds, scatteredIds } from '../ids.mjs';
import { OPERATIONS } from '../operations.mjs';
import { residentMiB } from '../process.mjs';
import { summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { startFull } from './life.mjs';
import { measureRate, newFolder, rotate, roundsOf } from './round.mjs';

const MILLION = 1_000_000;
/** How far from the end of the table its last pages begin. */
const END = 200_000;
/** How many plants have the tag that few have. */
const FEW = 5;
/** How often a page by tag is asked for in a round. */
const TIMES = 20;
/** An export looks at the memory after each tenth. */
const EXPORT = { rows: MILLION, page: 1_000, parts: 10 };

/** What pages cost in a big table: anywhere in it, of a tag, and one after another as an export. */
export async function bigTable(setting, millions) {
  const contestant = program();
  const rows = Math.round(millions * MILLION);
  const folder = await newFolder(setting, contestant);
  const { server } = await startFull(contestant, folder, rows);
  for (let index = 1; index <= FEW; index += 1) {
    const path = `/plants/${Math.floor((rows * index) / FEW)}`;
    await ask(server, 'PUT', path, { body: { name: 'Welwitschia', tag: 'few' } });
  }
  const runs = [];
  for (const round of roundsOf(setting)) {
    runs.push({
      rates: await measurePlaces(setting, server, rows, round),
      tags: await measureTags(server, rows),
      export: await exportPlants(server, Math.min(rows, EXPORT.rows)),
    });
  }
  await server.stop();
  await rm(folder, { recursive: true });
  printPlaces(setting, rows, runs);
  printTags(rows, runs);
  printExports(runs);
  return { rows, runs };
}

/** Pages of 100 a second. */
async function measurePlaces(setting, server, rows, round) {
  const places = [
    ['the first', freshIds()],
    ['the last', freshIds('ascending', Math.max(1, rows - END))],
    ['anywhere', scatteredIds(rows, round * END)],
  ];
  const rates = {};
  for (const [place, ids] of rotate(places, round)) {
    rates[place] = (await measureRate(setting, ids, OPERATIONS.page)(server)).at(-1).rate;
  }
  return rates;
}

/** Milliseconds of a page of 100, asked for alone. */
async function measureTags(server, rows) {
  const pages = {
    'a tag that no plant has': '/plants?tag=none',
    [`a tag that ${FEW} have`]: '/plants?tag=few',
    'the tag of nearly all': '/plants?tag=indoor',
    'the same, the last pages': `/plants?tag=indoor&after=${rows - 1_000}`,
  };
  const times = {};
  const agent = new http.Agent({ keepAlive: true });
  for (let time = 0; time < TIMES; time += 1) {
    for (const [title, path] of Object.entries(pages)) {
      const begin = performance.now();
      const { status, body } = await ask({ ...server, agent }, 'GET', path);
      (times[title] ??= []).push(performance.now() - begin);
      const expected = path.endsWith('none') ? 0 : path.endsWith('few') ? FEW : 100;
      if (status !== 200 || body.length !== expected) throw new Error(`${path}: ${body.length}`);
    }
  }
  agent.destroy();
  return times;
}

/** Reads page after page, each by the link of the one before. */
async function exportPlants(server, rows) {
  const agent = new http.Agent({ keepAlive: true });
  const memory = [];
  const begin = performance.now();
  let [read, last, path] = [0, -Infinity, `/plants?limit=${EXPORT.page}`];
  while (read < rows) {
    const answer = await ask({ ...server, agent }, 'GET', path);
    for (const { id } of answer.body) {
      if (id <= last) throw new Error(`${path}: ${id} comes after ${last}`);
      last = id;
    }
    read += answer.body.length;
    path = nextOf(answer);
    if (read >= ((memory.length + 1) * rows) / EXPORT.parts) {
      memory.push(await residentMiB(server.pid));
    }
  }
  const seconds = (performance.now() - begin) / 1_000;
  agent.destroy();
  return { rows: read, seconds, memory };
}

function printPlaces({ rounds, seconds, connections }, rows, runs) {
  printTable(
    `Pages of 100 of ${formatNumber(rows)} plants: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    ['', 'a second', 'min .. max', 'of the first', 'min .. max'],
    Object.keys(runs[0].rates).map((place) => {
      const rate = summarize(runs.map(({ rates }) => rates[place]));
      const ratio = summarize(runs.map(({ rates }) => rates[place] / rates['the first']));
      return [
        place,
        formatNumber(rate.median),
        formatRange(rate),
        formatNumber(ratio.median, 2),
        formatRange(ratio, 2),
      ];
    }),
  );
}

function printTags(rows, runs) {
  printTable(
    `A page of 100 by tag, of ${formatNumber(rows)} plants, in ms: ${runs.length * TIMES} requests, one after another`,
    ['', 'median', 'min .. max'],
    Object.keys(runs[0].tags).map((title) => {
      const time = summarize(runs.flatMap(({ tags }) => tags[title]));
      return [title, formatNumber(time.median, 1), formatRange(time, 1)];
    }),
  );
}

function printExports(runs) {
  printTable(
    `Exports by pages of ${formatNumber(EXPORT.page)}, one after another`,
    ['', 'plants', 'seconds', 'MiB after a tenth', 'most MiB'],
    runs.map(({ export: { rows, seconds, memory } }, round) => [
      `round ${round + 1}`,
      formatNumber(rows),
      formatNumber(seconds, 1),
      formatNumber(memory[0], 1),
      formatNumber(Math.max(...memory), 1),
    ]),
  );
}
