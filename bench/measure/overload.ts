import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Contestant, program } from '../contestants.js';
import { crowd } from '../crowd.js';
import { freshIds } from '../ids.js';
import { OptionError } from '../options.js';
import { formatNumber, printTable } from '../table.js';
import { runAndCount, type Setting } from './round.js';

/**
 * The duration of a flush, in milliseconds, so that this client offers more than the program can
 * serve.
 */
const FLUSH_MS = 1_000;
const FACTORS = [0.5, 1, 2, 5, 10];
/** The connections of the measurement of the capacity, and those of the overload. */
const CAPACITY_CONNECTIONS = 3_000;
const CROWD_CONNECTIONS = 6_000;

interface Run {
  /** Per second, like the next two. */
  readonly offered: number;
  readonly accepted: number;
  readonly refused: number;
  /** In milliseconds, like the next one. */
  readonly acceptedP99: number;
  readonly refusedP99: number;
  readonly unanswered: number;
  /** Creates without a free connection. */
  readonly unsent: number;
  readonly residentMiB: number;
}

interface Overload {
  readonly flushMs: number;
  /** The most creates per second that the program can serve. */
  readonly capacity: number;
  /** Each run is at `factor` times the capacity. */
  readonly runs: readonly (Run & { factor: number })[];
}

/** Measures the program when more requests arrive than it can serve. */
export async function overload(setting: Setting): Promise<Overload> {
  const contestant = program('overload', 'Plant Store', {
    ...slowFlush(setting.folder),
    // The connections of the overload are open before they are used.
    HEADERS_TIMEOUT_MS: '120000',
  });
  const full = await measure(setting, contestant, Infinity, CAPACITY_CONNECTIONS);
  const capacity = full.accepted;
  const runs = [];
  for (const factor of FACTORS) {
    console.error(`${factor} times ${Math.round(capacity)} creates/s`);
    const run = await measure(setting, contestant, factor * capacity, CROWD_CONNECTIONS);
    runs.push({ factor, ...run });
  }
  const overload = { flushMs: FLUSH_MS, capacity, runs };
  print(setting, overload);
  return overload;
}

/** Makes the environment in which the flushes of a program take longer. */
function slowFlush(folder: string): Record<string, string> {
  const library = path.join(folder, 'faults.so');
  const source = fileURLToPath(new URL('../../test/support/faults.c', import.meta.url));
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-o', library, source], { stdio: 'pipe' });
  } catch (error) {
    throw new OptionError('--overload needs Linux and a C compiler (cc)', { cause: error });
  }
  const faults = path.join(folder, 'faults');
  writeFileSync(faults, new BigInt64Array(8).fill(BigInt(FLUSH_MS), 0, 1));
  return { LD_PRELOAD: library, FAULTS_FILE: faults };
}

async function measure(
  setting: Setting,
  contestant: Contestant,
  rate: number,
  connections: number,
): Promise<Run> {
  const { warmUp, seconds } = setting;
  const ids = freshIds();
  const { during, latency, unsent, withoutAnswer, residentMiB } = await runAndCount(
    setting,
    contestant,
    ids,
    async ([{ url, pid }]) => {
      const stopWatching = watchMemory(pid);
      const tally = await crowd({ url, rate, connections, warmUp, seconds, ids });
      const { refused, unanswered: withoutAnswer } = tally;
      const residentMiB = stopWatching();
      // A create that was answered 503 may have been stored.
      const unanswered = withoutAnswer + refused;
      return [{ ...tally, refused: 0, unanswered, withoutAnswer, residentMiB }];
    },
  );
  return {
    offered: during.due / during.seconds,
    accepted: during.acknowledged / during.seconds,
    refused: during.refused / during.seconds,
    acceptedP99: latency.accepted.percentile(99) / 1_000,
    refusedP99: latency.refused.percentile(99) / 1_000,
    unanswered: withoutAnswer,
    unsent,
    residentMiB,
  };
}

/** Records the greatest resident memory until the returned function is called. */
function watchMemory(pid: number): () => number {
  let most = 0;
  const look = (): void => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    most = Math.max(most, Number(/VmRSS:\s*(\d+)/.exec(status)?.[1]) / 1_024);
  };
  const timer = setInterval(look, 200);
  return () => {
    clearInterval(timer);
    return most;
  };
}

function print({ seconds }: Setting, { capacity, runs }: Overload): void {
  printTable(
    `Overload: a flush takes ${FLUSH_MS} ms, capacity ${formatNumber(capacity)} creates/s, ${seconds} s each`,
    [
      ...['offered', 'creates/s', '200/s', '503/s', 'p99 of 200, ms', 'p99 of 503, ms'],
      ...['no answer', 'unsent', 'MiB'],
    ],
    runs.map(({ factor, ...run }) => [
      `${factor} x`,
      formatNumber(run.offered),
      formatNumber(run.accepted),
      formatNumber(run.refused),
      formatNumber(run.acceptedP99),
      formatNumber(run.refusedP99),
      formatNumber(run.unanswered),
      formatNumber(run.unsent),
      formatNumber(run.residentMiB),
    ]),
  );
}
