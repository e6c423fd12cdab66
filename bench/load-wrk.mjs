import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { endWithUs } from './children.mjs';
import { OPERATIONS } from './operations.mjs';

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

/** Seconds after the last request is sent: time for its answer. */
const GRACE = 1;

/** @type {import('./load.mjs').Load} */
export async function loadWithWrk({
  url,
  token,
  connections,
  seconds,
  ids,
  operation = OPERATIONS.create,
}) {
  const { method, path, body = '' } = operation;
  const run = promisify(execFile)('wrk', [
    '--threads=1',
    `--connections=${connections}`,
    `--duration=${Math.ceil(seconds) + GRACE}s`,
    `--script=${SCRIPT}`,
    url,
    ...['--', seconds, ids.order, ids.next, ids.rows ?? 0, token, method, path, body].map(String),
  ]);
  endWithUs(run.child);
  const { stdout } = await run;
  const { issued, answered, refused } = JSON.parse(stdout.trim().split('\n').at(-1));
  ids.next += issued + 1;
  const acknowledged = answered - refused;
  // At the end of the time, each connection still waits for the answer to one request.
  const inTime = Math.max(0, acknowledged - connections);
  return { acknowledged, refused, unanswered: issued - answered, rate: inTime / seconds };
}
