import autocannon from 'autocannon';
import { takeId } from './ids.js';
import type { LoadOptions, Tally } from './load.js';
import { TOKEN } from './operations.js';

/** Seconds after the last request is sent: time for its answer. */
const GRACE = 10;

export async function loadWithAutocannon({
  url,
  connections,
  seconds,
  ids,
  operation: { method, path, body },
}: LoadOptions): Promise<Tally> {
  let [acknowledged, refused, inTime] = [0, 0, 0];
  const ends = performance.now() + seconds * 1_000;
  const run = autocannon({
    url,
    connections,
    duration: Math.ceil(seconds) + GRACE,
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    requests: [
      {
        setupRequest: (request) => {
          const id = takeId(ids);
          const own = { ...request, path: path.replaceAll('{id}', id) };
          return body === undefined ? own : { ...own, body: body.replaceAll('{id}', id) };
        },
      },
    ],
  });
  run.on('response', (connection, status) => {
    if (status >= 200 && status < 300) acknowledged += 1;
    else refused += 1;
    if (performance.now() < ends) inTime = acknowledged;
    // A connection is closed after its last answer; the run ends with the last connection.
    else connection.destroy();
  });
  const { errors } = await run;
  return { acknowledged, refused, unanswered: errors, rate: inTime / seconds };
}
