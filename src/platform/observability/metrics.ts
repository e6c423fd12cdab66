import { collectDefaultMetrics, Counter, Gauge, Histogram } from 'prom-client';
import { VERSION } from '../config/version.js';

// The metrics of this process, in the registry of prom-client. They are constants because a process
// has one of each.

collectDefaultMetrics();

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const buildInfo = new Gauge({
  name: 'plant_store_build_info',
  help: 'The version of the program and of Node, as labels; always 1',
  labelNames: ['version', 'node'],
});
buildInfo.set({ version: VERSION, node: process.version }, 1);

const requestDuration = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from the headers of a request to the end of its answer, by method, route and status',
  labelNames: ['method', 'route', 'status'],
  buckets: SECONDS,
});

/** The methods with a label of their own. Clients may invent others, which share one label. */
const METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

/**
 * Counts a request that is over.
 *
 * @param method undefined for input that was not HTTP
 * @param route the pattern of the route; never the path, which has unlimited values
 * @param status undefined when the client left before its answer
 */
export function countRequest(
  method: string | undefined,
  route: string | undefined,
  status: number | undefined,
  seconds: number,
): void {
  const labels = {
    method: method !== undefined && METHODS.has(method) ? method : 'other',
    route: route ?? 'unmatched',
    status: status ?? 'aborted',
  };
  requestDuration.observe(labels, seconds);
}

export const authFailures = new Counter({
  name: 'auth_failures_total',
  help: 'Requests answered 401 by reason, such as missing, unknown, signature or expired',
  labelNames: ['reason'],
});

/**
 * The reason why a request is answered 401. An `unknown` token is not configured, and has not the
 * form of a JWT. The reasons from `malformed` on are about JWTs.
 */
export type AuthFailure =
  | 'missing'
  | 'unknown'
  | 'malformed'
  | 'algorithm'
  | 'unknown-key'
  | 'signature'
  | 'issuer'
  | 'audience'
  | 'expired'
  | 'not-yet-valid'
  | 'type'
  | 'bound-to-key';

export const openConnections = new Gauge({
  name: 'http_connections',
  help: 'Open connections',
});

export const droppedConnections = new Counter({
  name: 'http_connections_dropped_total',
  help: 'Connections closed unanswered because far too many were open',
});

export const importedLines = new Counter({
  name: 'import_lines_total',
  help: 'Lines of imports by outcome: created, identical or failed',
  labelNames: ['outcome'],
});

const operations = new Counter({
  name: 'store_operations_total',
  help: 'Rows by table, operation and outcome: created, done or found; missing; identical or different (the key is taken); rejected (a condition did not hold); violation (of a constraint); unavailable (the store failed); refused (too many waited)',
  labelNames: ['table', 'operation', 'outcome'],
});

/**
 * Kept for dashboards of version 1.0; the same as store_operations_total with operation="create".
 */
const creates = new Counter({
  name: 'store_creates_total',
  help: 'Creates by table and outcome, as in store_operations_total',
  labelNames: ['table', 'outcome'],
});

const labelNames = ['table', 'operation'];

const commitRows = new Histogram({
  name: 'store_commit_rows',
  help: 'Rows in a commit, by table',
  labelNames,
  buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
});

const commitDuration = new Histogram({
  name: 'store_commit_duration_seconds',
  help: 'Time of a commit, with its flush to disk',
  labelNames,
  buckets: [0.0001, 0.00025, 0.0005, ...SECONDS],
});

const readDuration = new Histogram({
  name: 'store_read_duration_seconds',
  help: 'Time of a statement that reads rows by key or by page',
  labelNames,
  buckets: [0.0001, 0.00025, 0.0005, ...SECONDS],
});

export const feedListeners = new Gauge({
  name: 'change_feed_listeners',
  help: 'Requests that wait for a change',
});

/** Measure the queues of operations, by table and operation. */
const measureQueue = new Map<string, () => void>();
const queueRows = new Gauge({
  name: 'store_queue_rows',
  help: 'Rows that wait for a commit, or to be read',
  labelNames,
  collect: () => {
    for (const measure of measureQueue.values()) measure();
  },
});

/** Counts the outcomes of one operation on one table, batch by batch. */
export class StoreMetrics {
  private readonly labels;

  /**
   * @param kind whether a batch of the operation is a commit, or a statement that reads
   * @param countWaiting returns how many rows wait
   */
  constructor(
    table: string,
    operation: string,
    private readonly kind: 'commit' | 'read',
    countWaiting: () => number,
  ) {
    const labels = { table, operation };
    this.labels = labels;
    measureQueue.set(`${table} ${operation}`, () => queueRows.set({ ...labels }, countWaiting()));
  }

  /** Observes a batch that has ended, successfully or not. */
  observeBatch(rows: number, seconds: number): void {
    if (this.kind === 'commit') {
      commitRows.observe({ ...this.labels }, rows);
      commitDuration.observe({ ...this.labels }, seconds);
    } else {
      readDuration.observe({ ...this.labels }, seconds);
    }
  }

  /** Counts rows by the outcome of an operation. */
  count(operation: string, outcome: string, rows = 1): void {
    const { table } = this.labels;
    operations.inc({ table, operation, outcome }, rows);
    if (operation === 'create') creates.inc({ table, outcome }, rows);
  }
}
