import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { endWithUs } from './children.js';
import type { LoadOptions, Tally } from './load.js';
import { TOKEN } from './operations.js';

const SCRIPT = fileURLToPath(new URL('wrk.lua', import.meta.url));

/** Seconds after the last request is sent: time for its answer. */
const GRACE = 1;

/** The line that wrk.lua prints at the end. */
interface Printed {
  issued: number;
  answered: number;
  refused: number;
}

export async function loadWithWrk({
  url,
  connections,
  seconds,
  ids,
  operation: { method, path, body = '' },
}: LoadOptions): Promise<Tally> {
  const rows = ids.order === 'scattered' ? ids.rows : 0;
  const run = promisify(execFile)('wrk', [
    '--threads=1',
    `--connections=${connections}`,
    `--duration=${Math.ceil(seconds) + GRACE}s`,
    `--script=${SCRIPT}`,
    url,
    ...['--', seconds, ids.order, ids.next, rows, TOKEN, method, path, body].map(String),
  ]);
  endWithUs(run.child);
  const { stdout } = await run;
  const line = stdout.trim().split('\n').at(-1) ?? '';
  const { issued, answered, refused } = JSON.parse(line) as Printed;
  ids.next += issued + 1;
  const acknowledged = answered - refused;
  // At the end of the time, each connection still waits for the answer to one request.
  const inTime = Math.max(0, acknowledged - connections);
  return { acknowledged, refused, unanswered: issued - answered, rate: inTime / seconds };
}
