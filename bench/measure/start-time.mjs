import { freshIds } from '../ids.mjs';
import { summarize } from '../statistics.mjs';
import { formatNumber, formatRange, printTable } from '../table.mjs';
import { inNewFolder, rotate, roundsOf, runAndCount } from './round.mjs';

/** From the start of the process, without a database, to the answer to the first create. */
export async function startTime(setting, contestants) {
  const times = Object.fromEntries(contestants.map(({ name }) => [name, []]));
  for (const round of roundsOf(setting)) {
    for (const contestant of rotate(contestants, round)) {
      const note = async (server) => {
        times[contestant.name].push(server.startTime);
        return [];
      };
      await inNewFolder(setting, contestant, (folder) =>
        runAndCount(setting, contestant, folder, freshIds(), note),
      );
    }
  }
  printTable(
    `Start to first create, in ms: ${setting.rounds} starts`,
    ['', 'median', 'min .. max'],
    contestants.map(({ name, title }) => {
      const summary = summarize(times[name]);
      return [title, formatNumber(summary.median), formatRange(summary)];
    }),
  );
  return times;
}
