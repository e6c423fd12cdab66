import autocannon from 'autocannon';
import { performance } from 'node:perf_hooks';
import { takeId } from './ids.mjs';
import { OPERATIONS } from './operations.mjs';

/** Seconds after the last request is sent: time for its answer. */
const GRACE = 10;

/** @type {import('./load.mjs').Load} */
export async function loadWithAutocannon({
  url,
  token,
  connections,
  seconds,
  ids,
  operation = OPERATIONS.create,
}) {
  let [acknowledged, refused, inTime] = [0, 0, 0];
  const ends = performance.now() + seconds * 1_000;
  const { method, path, body } = operation;
  const setupRequest = (request) => {
    const id = takeId(ids);
    return { ...request, path: path.replaceAll('{id}', id), body: body?.replaceAll('{id}', id) };
  };
  const run = autocannon({
    url,
    connections,
    duration: Math.ceil(seconds) + GRACE,
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    requests: [{ setupRequest }],
  });
  run.on('response', (client, status) => {
    if (status >= 200 && status < 300) acknowledged += 1;
    else refused += 1;
    if (performance.now() < ends) inTime = acknowledged;
    // A connection is closed after its last answer; the run ends with the last connection.
    else client.destroy();
  });
  const { errors } = await run;
  return { acknowledged, refused, unanswered: errors, rate: inTime / seconds };
}
