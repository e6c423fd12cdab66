import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { type Ids, takeId } from './ids.js';
import type { Counts } from './load.js';
import { plantBody, TOKEN } from './operations.js';

/** How long the last answers may take, in milliseconds. */
const PATIENCE = 30_000;

export interface OpenLoopOptions {
  readonly url: string;
  /** Creates per second. */
  readonly rate: number;
  readonly connections: number;
  readonly seconds: number;
  readonly ids: Ids;
  /** Is called with each id and the time at which its create was due. */
  readonly onCreate?: (id: string, due: number) => void;
}

export interface OpenLoopTally extends Counts {
  /** In microseconds. */
  readonly latency: RecordableHistogram;
  /** How late this client itself was, which may explain as much of a latency. */
  readonly lateness: RecordableHistogram;
}

/**
 * Sends creates at a fixed rate, whether the answers keep up or not (an open loop). The latency of
 * a create begins when it was due, so that the time before it was sent counts.
 */
export async function openLoop({
  url,
  rate,
  connections,
  seconds,
  ids,
  onCreate,
}: OpenLoopOptions): Promise<OpenLoopTally> {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections });
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const [latency, lateness] = [createHistogram(), createHistogram()];
  const tally = { acknowledged: 0, refused: 0, unanswered: 0 };
  const ended = (): number => tally.acknowledged + tally.refused + tally.unanswered;

  const send = (due: number): void => {
    record(lateness, due);
    const id = takeId(ids);
    onCreate?.(id, due);
    let status: number;
    pool.dispatch(
      { method: 'POST', path: pathname, headers, body: plantBody(id) },
      {
        onRequestStart: () => undefined,
        onResponseStart(_, statusCode) {
          status = statusCode;
        },
        onResponseEnd() {
          tally[status === 200 ? 'acknowledged' : 'refused'] += 1;
          record(latency, due);
        },
        onResponseError() {
          tally.unanswered += 1;
        },
      },
    );
  };

  const begin = performance.now();
  const total = Math.round(rate * seconds);
  const dueTime = (index: number): number => begin + (index * 1_000) / rate;
  let sent = 0;
  while (sent < total) {
    const now = performance.now();
    while (sent < total && dueTime(sent) <= now) send(dueTime(sent++));
    await sleep(1);
  }

  const deadline = performance.now() + PATIENCE;
  while (ended() < total && performance.now() < deadline) await sleep(10);
  tally.unanswered += total - ended();
  await pool.destroy();
  return { ...tally, latency, lateness };
}

/** In microseconds; a histogram counts from 1. */
function record(histogram: RecordableHistogram, since: number): void {
  histogram.record(Math.max(1, Math.round((performance.now() - since) * 1_000)));
}
