import autocannon from 'autocannon';
import { performance } from 'node:perf_hooks';
import { plantBody, takeId } from './ids.mjs';

/** Seconds after the last create is sent: time for its answer. */
const GRACE = 10;

/** @type {import('./load.mjs').Load} */
export async function loadWithAutocannon({ url, token, connections, seconds, ids }) {
  let [acknowledged, refused, inTime] = [0, 0, 0];
  const ends = performance.now() + seconds * 1_000;
  const run = autocannon({
    url,
    connections,
    duration: Math.ceil(seconds) + GRACE,
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    requests: [{ setupRequest: (request) => ({ ...request, body: plantBody(takeId(ids)) }) }],
  });
  run.on('response', (client, status) => {
    if (status >= 200 && status < 300) acknowledged += 1;
    else refused += 1;
    if (performance.now() < ends) inTime = acknowledged;
    // A connection that has its last answer goes; the run ends with the last of them.
    else client.destroy();
  });
  const { errors } = await run;
  return { acknowledged, refused, unanswered: errors, rate: inTime / seconds };
}
