import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { program, TOKEN } from '../contestants.mjs';
import { crowd } from '../crowd.mjs';
import { freshIds } from '../ids.mjs';
import { OptionError } from '../options.mjs';
import { formatNumber, printTable } from '../table.mjs';
import { inNewFolder, runAndCount } from './round.mjs';

/**
 * The duration of a flush, in milliseconds, so that this client offers more than the program can
 * serve.
 */
const FLUSH_MS = 1_000;
const FACTORS = [0.5, 1, 2, 5, 10];
/** The connections of the measurement of the capacity, and those of the overload. */
const CAPACITY_CONNECTIONS = 3_000;
const CROWD_CONNECTIONS = 6_000;

/** Measures the program when more requests arrive than it can serve. */
export async function overload(setting) {
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
  print(setting, capacity, runs);
  return { flushMs: FLUSH_MS, capacity, runs };
}

/** Makes the environment in which the flushes of a program take longer. */
function slowFlush(folder) {
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

async function measure(setting, contestant, rate, connections) {
  const ids = freshIds();
  let residentMiB = 0;
  const load = async ({ url, pid }) => {
    const stopWatching = watchMemory(pid);
    const { warmUp, seconds } = setting;
    const tally = await crowd({ url, token: TOKEN, rate, connections, warmUp, seconds, ids });
    residentMiB = stopWatching();
    // A create that was answered 503 may have been stored.
    return [{ ...tally, refused: 0, unanswered: tally.unanswered + tally.refused, tally }];
  };
  const { tally, during, latency, unsent } = await inNewFolder(setting, contestant, (folder) =>
    runAndCount(setting, contestant, folder, ids, load),
  );
  const perSecond = (count) => count / during.seconds;
  return {
    offered: perSecond(during.due),
    accepted: perSecond(during.acknowledged),
    refused: perSecond(during.refused),
    acceptedP99: latency.accepted.percentile(99) / 1_000,
    refusedP99: latency.refused.percentile(99) / 1_000,
    unanswered: tally.unanswered,
    unsent,
    residentMiB,
  };
}

/** Records the greatest resident memory until the returned function is called. */
function watchMemory(pid) {
  let most = 0;
  const look = () => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    most = Math.max(most, Number(/VmRSS:\s*(\d+)/.exec(status)?.[1]) / 1_024);
  };
  const timer = setInterval(look, 200);
  return () => {
    clearInterval(timer);
    return most;
  };
}

function print({ seconds }, capacity, runs) {
  printTable(
    `Overload: a flush takes ${FLUSH_MS} ms, capacity ${formatNumber(capacity)} creates/s, ${seconds} s each`,
    [
      ...['offered', 'creates/s', '200/s', '503/s', 'p99 of 200, ms', 'p99 of 503, ms'],
      ...['no answer', 'unsent', 'MiB'],
    ],
    runs.map((run) => [
      `${run.factor} x`,
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
