import { freshIds, scatteredIds } from '../ids.mjs';
import { OPERATIONS } from '../operations.mjs';
import { summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { ROWS, startFull } from './life.mjs';
import { inNewFolder, measureRate, rotate, roundsOf } from './round.mjs';

const MIXED = ['read', 'create'];

/** The rates of reads and of creates, alone on all connections and together on half of them each. */
export async function mixed(setting, contestants) {
  const rounds = [];
  for (const round of roundsOf(setting)) {
    const results = {};
    for (const contestant of rotate(contestants, round)) {
      results[contestant.name] = await inNewFolder(setting, contestant, (folder) =>
        measure(setting, contestant, folder),
      );
    }
    rounds.push(results);
  }
  print(setting, contestants, rounds);
  return rounds;
}

async function measure(setting, contestant, folder) {
  const { server } = await startFull(contestant, folder, ROWS);
  // Beyond those that the starts have created.
  const ids = { read: scatteredIds(ROWS), create: freshIds('ascending', ROWS + 1_000) };
  const rateOf = async (connections, name) => {
    const load = measureRate({ ...setting, connections }, ids[name], OPERATIONS[name]);
    return (await load(server)).at(-1).rate;
  };
  const results = { alone: {}, together: {} };
  for (const name of MIXED) results.alone[name] = await rateOf(setting.connections, name);
  const rates = await Promise.all(MIXED.map((name) => rateOf(setting.connections / 2, name)));
  for (const [index, name] of MIXED.entries()) results.together[name] = rates[index];
  await server.stop();
  return results;
}

function print({ rounds, seconds, connections }, contestants, results) {
  printTable(
    `Half reads, half creates: ${connections} connections, ${rounds} rounds of ${seconds} s`,
    ['', 'alone', 'min .. max', 'together', 'min .. max', 'ratio', 'min .. max'],
    contestants.flatMap(({ name, title }) =>
      MIXED.map((operation) => {
        const runs = results.map((round) => round[name]);
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
