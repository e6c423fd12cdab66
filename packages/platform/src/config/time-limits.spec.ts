import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import {
  getLastAnswerMs,
  getMaxStopMs,
  getProbeTimeoutMs,
  MAX_WAIT_TIMEOUT_MS,
  MIN_WAIT_TIMEOUT_MS,
  WAIT_TIMEOUT_MS,
} from './time-limits.js';

const ROOT = new URL('../../../../', import.meta.url);
/** The longest SHUTDOWN_GRACE_MS, and the longest stop with it. */
const MAX_GRACE_MS = 60_000;
const LONGEST_STOP_MS = MAX_GRACE_MS + getMaxStopMs(MAX_WAIT_TIMEOUT_MS);
/** What kills the program after how many seconds. */
const KILLS = [
  ['deploy/plant-store.service', /^TimeoutStopSec=(\d+)$/m],
  ['deploy/compose.sqlite.yaml', /stop_grace_period: (\d+)s/],
  ['compose.yaml', /25 are added[^]*stop_grace_period: (\d+)s/],
  ['deploy/kubernetes.yaml', /terminationGracePeriodSeconds: (\d+)/],
  ['docs/install.md', /--kill-timeout (\d+)000 /],
] as const;

function readSeconds(file: string, pattern: RegExp): number {
  const [, seconds] = pattern.exec(readFileSync(new URL(file, ROOT), 'utf8')) ?? [];
  return Number(seconds) * 1_000;
}

describe.each([MIN_WAIT_TIMEOUT_MS, WAIT_TIMEOUT_MS, MAX_WAIT_TIMEOUT_MS])(
  'if a request waits for %d ms',
  (waitMs) => {
    it('a probe of readiness fails before, and a stopping server gives up after', () => {
      expect(getProbeTimeoutMs(waitMs)).toBeLessThan(waitMs);
      expect(getLastAnswerMs(waitMs)).toBeGreaterThan(waitMs);
    });
  },
);

it.each(KILLS)('%s waits for the longest stop', (file, pattern) => {
  expect(LONGEST_STOP_MS).toBeLessThan(readSeconds(file, pattern));
});
