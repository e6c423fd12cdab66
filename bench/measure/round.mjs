import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { flushCost } from '../flush-cost.mjs';
import { splitIds } from '../ids.mjs';
import { start } from '../server.mjs';

/**
 * The setting of every measurement.
 *
 * @typedef {object} Setting
 * @property {string} folder where databases go
 * @property {number} rounds
 * @property {number} seconds of a measured run
 * @property {number} warmUp seconds before it
 * @property {number} connections
 * @property {import('../load.mjs').Load} load
 * @property {string[]} faults lost or unexpected rows, each of which fails the run
 */

/** @returns {Promise<string>} */
export async function newFolder({ folder }, contestant) {
  await mkdir(folder, { recursive: true });
  const made = await mkdtemp(path.join(folder, `${contestant.name}-`));
  await contestant.prepare?.(made);
  return made;
}

/** Runs `action` with a new folder for the contestant. */
export async function inNewFolder(setting, contestant, action) {
  const folder = await newFolder(setting, contestant);
  try {
    return await action(folder);
  } finally {
    await contestant.clear?.(folder);
    await rm(folder, { recursive: true });
  }
}

/**
 * Starts the contestant, lets `action` load it, stops it and counts what it has stored. The flush
 * of the disk is timed just before, since it may vary on a shared machine.
 *
 * @template {import('../load.mjs').Tally} Result
 * @param {Setting} setting
 * @param {import('../contestants.mjs').Contestant} contestant
 * @param {string} folder
 * @param {import('../ids.mjs').Ids} ids
 * @param {(server: import('../server.mjs').Server & { urls: string[] }) => Promise<Result[]>}
 *   action resolves with one tally for each load; the last one is that of the measured load
 * @param {number} [before] rows that are stored already; they are not counted
 */
export async function runAndCount(setting, contestant, folder, ids, action, before = 0) {
  const flushMs = flushCost(folder);
  const servers = [];
  for (let replica = 0; replica < (contestant.replicas ?? 1); replica += 1) {
    servers.push(await start(contestant, folder, ids));
  }
  const end = await contestant.beside?.(servers[0]);
  const tallies = await action({ ...servers[0], urls: servers.map(({ url }) => url) });
  end?.();
  for (const server of servers) await server.stop();

  // The first creates are those that detected the starts.
  const acknowledged = servers.length + sum(tallies, 'acknowledged');
  const unanswered = sum(tallies, 'unanswered');
  const stored = contestant.stored && (await contestant.stored(folder)) - before;
  // A create without an answer may or may not be stored; the outcome of any other is known.
  if (stored < acknowledged || stored > acknowledged + unanswered) {
    setting.faults.push(
      `${contestant.name}: ${acknowledged} creates acknowledged, ${unanswered} unanswered, ${stored} stored`,
    );
  }
  const refused = sum(tallies, 'refused');
  return { ...tallies.at(-1), refused, unanswered, acknowledged, stored, flushMs };
}

/** Runs a warm-up and a measured load as closed loops, split equally among the replicas. */
export function measureRate({ load, warmUp, seconds, connections }, ids, operation) {
  return async ({ urls, token }) => {
    const parts = splitIds(ids, urls.length);
    const loadAll = async (time) => {
      const tallies = await Promise.all(
        urls.map((url, index) =>
          load({
            url,
            token,
            connections: connections / urls.length,
            seconds: time,
            ids: parts[index],
            operation,
          }),
        ),
      );
      const keys = ['acknowledged', 'refused', 'unanswered', 'rate'];
      return Object.fromEntries(keys.map((key) => [key, sum(tallies, key)]));
    };
    return [await loadAll(warmUp), await loadAll(seconds)];
  };
}

function sum(tallies, key) {
  return tallies.reduce((total, tally) => total + tally[key], 0);
}

/** Counts the rounds, and prints the progress. */
export function* countRounds({ rounds }) {
  for (let round = 0; round < rounds; round += 1) {
    console.error(`Round ${round + 1} of ${rounds}`);
    yield round;
  }
}

/** Rotates the order in every round, so that no contestant always follows the same one. */
export function rotate(list, by) {
  const at = by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}
