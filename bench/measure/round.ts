import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Contestant } from '../contestants.js';
import { type Ids, splitOffIds } from '../ids.js';
import type { Counts, Load, Tally } from '../load.js';
import { flushCost, processorMs } from '../machine.js';
import { type Operation, OPERATIONS } from '../operations.js';
import { type Server, start } from '../server.js';
import { sum } from '../statistics.js';

/** The setting of every measurement. */
export interface Setting {
  /** Where databases go. */
  readonly folder: string;
  readonly rounds: number;
  /** The length of a measured run. */
  readonly seconds: number;
  /** Seconds under load before a measured run. */
  readonly warmUp: number;
  readonly connections: number;
  readonly load: Load;
  /** Lost or unexpected rows, each of which fails the run. */
  readonly faults: string[];
}

export interface Counted extends Counts {
  /** The rows on disk; undefined if the contestant stores nothing. */
  readonly stored: number | undefined;
  readonly flushMs: number;
}

export interface Measurement extends Tally {
  /** The processor time of the contestant for each acknowledged request, in microseconds. */
  readonly processorUs: number;
}

/** The replicas of a contestant. */
type Servers = readonly [Server, ...Server[]];

export async function newFolder({ folder }: Setting, contestant: Contestant): Promise<string> {
  const made = await mkdtemp(path.join(folder, `${contestant.name}-`));
  await contestant.prepare?.(made);
  return made;
}

/** Runs `action` with a new folder for the contestant. */
export async function inNewFolder<Result>(
  setting: Setting,
  contestant: Contestant,
  action: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await newFolder(setting, contestant);
  try {
    return await action(folder);
  } finally {
    await contestant.clear?.(folder);
    await rm(folder, { recursive: true });
  }
}

/**
 * Starts the contestant in a new folder, lets `action` load it, stops it and counts what it has
 * stored. The flush of the disk is timed just before, since it may vary on a shared machine.
 *
 * @param action resolves with the tally of the measured load, and of any others
 */
export async function runAndCount<Result extends Counts>(
  setting: Setting,
  contestant: Contestant,
  ids: Ids,
  action: (servers: Servers) => Promise<readonly [measured: Result, ...others: Counts[]]>,
): Promise<Result & Counted> {
  return await inNewFolder(setting, contestant, async (folder) => {
    const flushMs = flushCost(folder);
    const first = await start(contestant, folder, ids);
    const servers: [Server, ...Server[]] = [first];
    while (servers.length < (contestant.replicas ?? 1)) {
      servers.push(await start(contestant, folder, ids));
    }
    const end = await contestant.beside?.(first);
    const tallies = await action(servers);
    end?.();
    for (const server of servers) await server.stop();

    const counts = addUp(tallies);
    const { unanswered } = counts;
    // The first creates are those that detected the starts.
    const acknowledged = servers.length + counts.acknowledged;
    const stored = await contestant.stored?.(folder);
    // A create without an answer may or may not be stored; the outcome of any other is known.
    if (stored !== undefined && (stored < acknowledged || stored > acknowledged + unanswered)) {
      setting.faults.push(
        `${contestant.name}: ${acknowledged} creates acknowledged, ${unanswered} unanswered, ${stored} stored`,
      );
    }
    return { ...tallies[0], ...counts, acknowledged, stored, flushMs };
  });
}

/** Runs a warm-up and a measured load as closed loops, split equally among the replicas. */
export function measureRate(
  { load, warmUp, seconds, connections }: Setting,
  ids: Ids,
  operation: Operation = OPERATIONS.create,
): (servers: Servers) => Promise<readonly [measured: Measurement, warmedUp: Tally]> {
  return async (servers) => {
    const share = connections / servers.length;
    const parts = servers.map(({ url }, index) => ({ url, ids: splitOffIds(ids, index) }));
    const loadAll = async (time: number): Promise<Tally> => {
      const tallies = await Promise.all(
        parts.map((part) => load({ ...part, connections: share, seconds: time, operation })),
      );
      return { ...addUp(tallies), rate: sum(tallies, 'rate') };
    };
    const readProcessorMs = async (): Promise<number> => {
      const times = await Promise.all(servers.map(({ pid }) => processorMs(pid)));
      return times.reduce((total, ms) => total + ms, 0);
    };
    const warmedUp = await loadAll(warmUp);
    const before = await readProcessorMs();
    const measured = await loadAll(seconds);
    const processorUs = (((await readProcessorMs()) - before) * 1_000) / measured.acknowledged;
    return [{ ...measured, processorUs }, warmedUp];
  };
}

export function addUp(tallies: readonly Counts[]): Counts {
  return {
    acknowledged: sum(tallies, 'acknowledged'),
    refused: sum(tallies, 'refused'),
    unanswered: sum(tallies, 'unanswered'),
  };
}

/** Counts the rounds, and prints the progress. */
export function* countRounds({ rounds }: Setting): Generator<number> {
  for (let round = 0; round < rounds; round += 1) {
    console.error(`Round ${round + 1} of ${rounds}`);
    yield round;
  }
}

/** Rotates the order in every round, so that no contestant always follows the same one. */
export function rotate<One>(list: readonly One[], by: number): One[] {
  const at = by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}
