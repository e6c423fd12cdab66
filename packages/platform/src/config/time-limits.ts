import { MAX_WAIT_TIMEOUT_MS, MIN_WAIT_TIMEOUT_MS, WAIT_TIMEOUT_MS } from 'durable-store';

// The times of a service that depend on each other, in milliseconds. The times of the store are in
// durable-store. time-limits.spec.ts has their order.

/** How long a request may wait for its turn or for the store before it gets 503: STORE_TIMEOUT_MS. */
export { MAX_WAIT_TIMEOUT_MS, MIN_WAIT_TIMEOUT_MS, WAIT_TIMEOUT_MS };

/**
 * How long a stopping server waits first. The answers that are under way may make clients open
 * connections. Later all clients wait for answers, and open none that could be lost.
 */
export const SETTLE_MS = 25;

/** How long a stopping server accepts connections from the backlog. */
export const ACCEPT_MS = 3_000;

/** How long the rest of a stop may take once all connections are closed. */
export const CLOSE_TIMEOUT_MS = 250;

/** How long a forced stop waits for the log. */
export const LOG_FLUSH_MS = 250;

/** How long the store may take to answer a probe of readiness. */
export function getProbeTimeoutMs(waitMs: number): number {
  return (waitMs * 2) / 5;
}

/** How long an answer may take once idle connections are closed: longer than any write waits. */
export function getLastAnswerMs(waitMs: number): number {
  return waitMs + waitMs / 20;
}

/** How much longer than SHUTDOWN_GRACE_MS a stop may take. */
export function getMaxStopMs(waitMs: number): number {
  return SETTLE_MS + ACCEPT_MS + getLastAnswerMs(waitMs) + CLOSE_TIMEOUT_MS + LOG_FLUSH_MS;
}
