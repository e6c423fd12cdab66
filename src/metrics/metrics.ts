import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { RequestDurations } from './request-durations.js';

/** The figures of this process. They are constants because a process has one of each. */
export const registry = new Registry();
const registers = [registry];

collectDefaultMetrics({ register: registry });

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const requestDurations = new RequestDurations(SECONDS);
registry.registerMetric(requestDurations.asMetric());

/** Other methods, of which a client may send many, count as one. */
const METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

/**
 * A request is over.
 *
 * @param method undefined for what was not HTTP
 * @param route the pattern of the route that took it, never the path: paths are without number
 * @param status undefined when the client left before its answer
 */
export function countRequest(
  method: string | undefined,
  route: string | undefined,
  status: number | undefined,
  seconds: number,
): void {
  const name = method !== undefined && METHODS.has(method) ? method : 'other';
  requestDurations.observe(name, route ?? 'unmatched', status ?? 'aborted', seconds);
}

export const openConnections = new Gauge({
  name: 'http_connections',
  help: 'Open connections',
  registers,
});

export const droppedConnections = new Counter({
  name: 'http_connections_dropped_total',
  help: 'Connections closed unanswered because far too many were open',
  registers,
});

const creates = new Counter({
  name: 'store_creates_total',
  help: 'Creates by table and outcome: created, identical or different (conflicts), unavailable (the store failed), refused (too many waited)',
  labelNames: ['table', 'outcome'],
  registers,
});

const commitRows = new Histogram({
  name: 'store_commit_rows',
  help: 'Rows in a commit',
  labelNames: ['table'],
  buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
  registers,
});

const commitDuration = new Histogram({
  name: 'store_commit_duration_seconds',
  help: 'Time of a commit, with its flush to disk',
  labelNames: ['table'],
  buckets: [0.0001, 0.00025, 0.0005, ...SECONDS],
  registers,
});

const queues = new Map<string, () => number>();
new Gauge({
  name: 'store_queue_rows',
  help: 'Rows that wait for a commit',
  labelNames: ['table'],
  registers,
  collect() {
    for (const [table, rows] of queues) this.set({ table }, rows());
  },
});

/** Counts what becomes of the creates of one table, a batch at a time. */
export class StoreMetrics {
  private readonly labels: { readonly table: string };

  /** @param waiting tells how many rows wait for a commit */
  constructor(
    private readonly table: string,
    waiting: () => number,
  ) {
    this.labels = { table };
    queues.set(table, waiting);
  }

  /** A commit of these rows is over, well or not. */
  committed(results: readonly unknown[], seconds: number): void {
    commitRows.observe(this.labels, results.length);
    commitDuration.observe(this.labels, seconds);
    const counts = new Map<string, number>();
    for (const result of results) {
      const outcome = typeof result === 'string' ? result : 'unavailable';
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    }
    for (const [outcome, count] of counts) creates.inc({ table: this.table, outcome }, count);
  }

  /** Rows were turned away because too many waited, or they waited too long. */
  refused(rows = 1): void {
    creates.inc({ table: this.table, outcome: 'refused' }, rows);
  }
}
