import { freshIds, scatteredIds } from '../ids.mjs';
import { OPERATIONS } from '../operations.mjs';
import { summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { ROWS, startFull } from './life.mjs';
import { inNewFolder, measureRate, rotate, roundsOf } from './round.mjs';

const MIXED = ['read', 'create'];

/** The rates of reads and of creates, alone on all connections and together on half of them each. */
export async function mixed(setting, contestants) {
  const results = {};
  for (const contestant of contestants) {
    results[contestant.name] = await inNewFolder(setting, contestant, async (folder) => {
      const { server } = await startFull(contestant, folder, ROWS);
      const runs = await measureRounds(setting, server);
      await server.stop();
      return runs;
    });
  }
  print(setting, contestants, results);
  return results;
}

async function measureRounds(setting, server) {
  // New plants come after those that the starts have created.
  const ids = { read: scatteredIds(ROWS), create: freshIds('ascending', ROWS + 1_000) };
  const rateOf = async (connections, name) => {
    const load = measureRate({ ...setting, connections }, ids[name], OPERATIONS[name]);
    return (await load(server)).at(-1).rate;
  };
  const runs = [];
  for (const round of roundsOf(setting)) {
    const run = { alone: {}, together: {} };
    for (const name of rotate(MIXED, round)) {
      run.alone[name] = await rateOf(setting.connections, name);
    }
    const rates = await Promise.all(MIXED.map((name) => rateOf(setting.connections / 2, name)));
    for (const [index, name] of MIXED.entries()) run.together[name] = rates[index];
    runs.push(run);
  }
  return runs;
}

function print({ rounds, seconds, connections }, contestants, results) {
  printTable(
    `Half reads, half creates: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    ['', 'alone', 'min .. max', 'together', 'min .. max', 'ratio', 'min .. max'],
    contestants.flatMap(({ name, title }) =>
      MIXED.map((operation) => {
        const runs = results[name];
        const alone = summarize(runs.map((run) => run.alone[operation]));
        const together = summarize(runs.map((run) => run.together[operation]));
        const ratio = summarize(runs.map((run) => run.together[operation] / run.alone[operation]));
        return [
          `${title}, ${OPERATIONS[operation].title}`,
          formatNumber(alone.median),
          formatRange(alone),
          formatNumber(together.median),
          formatRange(together),
          formatNumber(ratio.median, 2),
          formatRange(ratio, 2),
        ];
      }),
    ),
  );
}
