import { program, TOKEN } from '../contestants.mjs';
import { freshIds } from '../ids.mjs';
import { residentMiB } from '../process.mjs';
import { formatNumber, printTable } from '../table.mjs';
import { inNewFolder, runAndCount } from './round.mjs';

const MILLION = 1_000_000;
/** Seconds that one load lasts at least and at most. */
const SHORTEST = 0.1;
const LONGEST = 30;

/** The resident memory of the program after each million creates. */
export async function memory(setting, millions) {
  const contestant = program();
  const ids = freshIds();
  const samples = [];
  const load = async (server) => {
    const tallies = [await createFor(setting, server, ids, setting.warmUp)];
    for (const goal of goals(millions)) {
      while (createdBy(tallies) < goal) {
        tallies.push(await createFor(setting, server, ids, secondsTo(goal, tallies)));
      }
      const resident = await residentMiB(server.pid);
      console.error(`${createdBy(tallies)} creates`);
      samples.push({ created: createdBy(tallies), residentMiB: resident });
    }
    return tallies;
  };
  const counts = await inNewFolder(setting, contestant, (folder) =>
    runAndCount(setting, contestant, folder, ids, load),
  );
  print(setting, samples);
  return { samples, ...counts };
}

/** Each million; the last may be a part of one, for a quick try. */
function goals(millions) {
  return Array.from({ length: Math.ceil(millions) }, (_, index) =>
    Math.round(Math.min(index + 1, millions) * MILLION),
  );
}

const createdBy = (tallies) => tallies.reduce((sum, { acknowledged }) => sum + acknowledged, 0);

/** By the best rate so far, so as not to shoot far over the goal. */
function secondsTo(goal, tallies) {
  const rate = Math.max(1, ...tallies.map((tally) => tally.rate));
  return Math.min(LONGEST, Math.max(SHORTEST, (goal - createdBy(tallies)) / rate));
}

function createFor({ load, connections }, { url }, ids, seconds) {
  return load({ url, token: TOKEN, connections, seconds, ids });
}

function print({ connections }, samples) {
  printTable(
    `Resident memory: ${connections} connections`,
    ['creates', 'MiB', 'of the first'],
    samples.map(({ created, residentMiB }) => [
      formatNumber(created),
      formatNumber(residentMiB, 1),
      formatNumber(residentMiB / samples[0].residentMiB, 3),
    ]),
  );
}
