import { createHistogram, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { plantBody, takeId } from './ids.mjs';

/** How long the last answers may take, in milliseconds. */
const PATIENCE = 30_000;

/**
 * Sends creates at a fixed rate, whether the answers keep up or not (an open loop). The latency of
 * a create begins when it was due, so that the time before it was sent counts.
 *
 * `lateness` is how late this client itself was, which may explain as much of a latency. `onCreate`
 * is called with each id and the time at which its create was due.
 */
export async function openLoop({ url, token, rate, connections, seconds, ids, onCreate }) {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const [latency, lateness] = [createHistogram(), createHistogram()];
  const tally = { acknowledged: 0, refused: 0, unanswered: 0 };
  const ended = () => tally.acknowledged + tally.refused + tally.unanswered;

  const send = (due) => {
    record(lateness, due);
    const id = takeId(ids);
    onCreate?.(id, due);
    const request = { method: 'POST', path: pathname, headers, body: plantBody(id) };
    let status;
    pool.dispatch(request, {
      onRequestStart() {},
      onResponseStart: (_, statusCode) => (status = statusCode),
      onResponseData() {},
      onResponseEnd() {
        tally[status === 200 ? 'acknowledged' : 'refused'] += 1;
        record(latency, due);
      },
      onResponseError() {
        tally.unanswered += 1;
      },
    });
  };

  const begin = performance.now();
  const total = Math.round(rate * seconds);
  const dueTime = (index) => begin + (index * 1_000) / rate;
  for (let sent = 0; sent < total; await sleep(1)) {
    const now = performance.now();
    while (sent < total && dueTime(sent) <= now) send(dueTime(sent++));
  }

  const deadline = performance.now() + PATIENCE;
  while (ended() < total && performance.now() < deadline) await sleep(10);
  tally.unanswered += total - ended();
  await pool.destroy();
  return { ...tally, latency, lateness };
}

/** In microseconds; a histogram counts from 1. */
function record(histogram, since) {
  histogram.record(Math.max(1, Math.round((performance.now() - since) * 1_000)));
}
