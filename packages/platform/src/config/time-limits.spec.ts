import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { LAST_ANSWER_MS, MAX_STOP_MS, PROBE_TIMEOUT_MS, WAIT_TIMEOUT_MS } from './time-limits.js';

const ROOT = new URL('../../../../', import.meta.url);
/** The longest SHUTDOWN_GRACE_MS. */
const MAX_GRACE_MS = 60_000;

function readSeconds(file: string, pattern: RegExp): number {
  const [, seconds] = pattern.exec(readFileSync(new URL(file, ROOT), 'utf8')) ?? [];
  return Number(seconds) * 1_000;
}

it.each([
  ['a probe of readiness fails', PROBE_TIMEOUT_MS, 'the wait of a write ends', WAIT_TIMEOUT_MS],
  ['the wait of a write ends', WAIT_TIMEOUT_MS, 'a stopping server gives up', LAST_ANSWER_MS],
  [
    'the longest stop ends',
    MAX_GRACE_MS + MAX_STOP_MS,
    'systemd kills the program',
    readSeconds('deploy/plant-store.service', /^TimeoutStopSec=(\d+)$/m),
  ],
  [
    'the longest stop ends',
    MAX_GRACE_MS + MAX_STOP_MS,
    'Docker kills the program',
    readSeconds('deploy/compose.sqlite.yaml', /stop_grace_period: (\d+)s/),
  ],
])('%s (%d ms) before %s (%d ms)', (_, before, __, after) => {
  expect(before).toBeLessThan(after);
});
