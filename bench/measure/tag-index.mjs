import { databaseIn, program } from '../contestants.mjs';
import { dropIndexes } from '../database.mjs';
import { freshIds } from '../ids.mjs';
import { OPERATIONS } from '../operations.mjs';
import { start } from '../server.mjs';
import { summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { inNewFolder, measureRate, rotate, roundsOf, runAndCount } from './round.mjs';

/** What may make an index dear or cheap, with the order of the ids. */
const LOADS = [
  { title: 'the same tag', operation: OPERATIONS.create, order: 'ascending' },
  { title: 'random ids, a tag each', operation: OPERATIONS.createWithOwnTag, order: 'random' },
  { title: 'no tag', operation: OPERATIONS.createUntagged, order: 'ascending' },
];

/** The rate of creates with the indexes that the program has made, and without. */
export async function tagIndex(setting) {
  const runs = LOADS.map(() => []);
  for (const round of roundsOf(setting)) {
    for (const [index, load] of LOADS.entries()) {
      const rates = {};
      for (const isIndexed of rotate([true, false], round)) {
        rates[isIndexed ? 'indexed' : 'plain'] = await measure(setting, load, isIndexed);
      }
      runs[index].push(rates);
    }
  }
  print(setting, runs);
  return LOADS.map(({ title }, index) => ({ title, runs: runs[index] }));
}

async function measure(setting, { operation, order }, isIndexed) {
  const contestant = program();
  return await inNewFolder(setting, contestant, async (folder) => {
    await (await start(contestant, folder, freshIds('ascending', -1))).stop();
    if (!isIndexed) dropIndexes(databaseIn(folder));
    const ids = freshIds(order);
    const load = measureRate(setting, ids, operation);
    return (await runAndCount(setting, contestant, folder, ids, load, 1)).rate;
  });
}

function print({ rounds, seconds, connections }, runs) {
  printTable(
    `Creates/s with and without the index on tags: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    ['', 'without', 'min .. max', 'with', 'min .. max', 'ratio', 'min .. max'],
    LOADS.map(({ title }, index) => {
      const plain = summarize(runs[index].map((run) => run.plain));
      const indexed = summarize(runs[index].map((run) => run.indexed));
      const ratio = summarize(runs[index].map((run) => run.indexed / run.plain));
      return [
        title,
        formatNumber(plain.median),
        formatRange(plain),
        formatNumber(indexed.median),
        formatRange(indexed),
        formatNumber(ratio.median, 2),
        formatRange(ratio, 2),
      ];
    }),
  );
}
