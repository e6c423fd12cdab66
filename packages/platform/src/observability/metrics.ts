import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { Service } from '../config/service.js';

// An application and a store each have a registry. That of prom-client has the metrics of the process,
// and those that modules add.

collectDefaultMetrics();

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const STORE_SECONDS = [0.0001, 0.00025, 0.0005, ...SECONDS];

/** The methods with a label of their own. Clients may invent others, which share one label. */
const METHODS = new Set(['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']);

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

/** The metrics of an application and its requests. */
@Injectable()
export class RequestMetrics {
  readonly registry = new Registry();
  private readonly registers = [this.registry];

  private readonly requestDuration = new Histogram({
    registers: this.registers,
    name: 'http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer, by method, route and status',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
  });

  readonly authFailures = new Counter({
    registers: this.registers,
    name: 'auth_failures_total',
    help: 'Requests answered 401 by reason, such as missing, unknown, signature or expired',
    labelNames: ['reason'],
  });

  readonly openConnections = new Gauge({
    registers: this.registers,
    name: 'http_connections',
    help: 'Open connections',
  });

  readonly droppedConnections = new Counter({
    registers: this.registers,
    name: 'http_connections_dropped_total',
    help: 'Connections closed unanswered because far too many were open',
  });

  readonly importedLines = new Counter({
    registers: this.registers,
    name: 'import_lines_total',
    help: 'Lines of imports by outcome: created, identical or failed',
    labelNames: ['outcome'],
  });

  constructor({ name, version }: Service) {
    const buildInfo = new Gauge({
      registers: this.registers,
      name: `${name.replaceAll('-', '_')}_build_info`,
      help: 'The version of the program and of Node, as labels; always 1',
      labelNames: ['version', 'node'],
    });
    buildInfo.set({ version, node: process.version }, 1);
  }

  /**
   * Counts a request that is over.
   *
   * @param method undefined for input that was not HTTP
   * @param route the pattern of the route; never the path, which has unlimited values
   * @param status undefined when the client left before its answer
   */
  countRequest(
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
    this.requestDuration.observe(labels, seconds);
  }
}

const OF_QUEUE = ['table', 'operation'] as const;

/** The metrics of a store. */
export class StoreMetrics {
  readonly registry = new Registry();
  private readonly registers = [this.registry];
  /** Measure the queues of operations. */
  private readonly measureQueues: (() => void)[] = [];

  readonly operations = new Counter({
    registers: this.registers,
    name: 'store_operations_total',
    help: 'Rows by table, operation and outcome: created, done or found; missing; identical or different (the key is taken); rejected (a condition did not hold); violation (of a constraint); unavailable (the store failed); refused (too many waited)',
    labelNames: ['table', 'operation', 'outcome'],
  });

  /**
   * Kept for dashboards of version 1.0; the same as store_operations_total with operation="create".
   */
  readonly creates = new Counter({
    registers: this.registers,
    name: 'store_creates_total',
    help: 'Creates by table and outcome, as in store_operations_total',
    labelNames: ['table', 'outcome'],
  });

  readonly commitRows = new Histogram({
    registers: this.registers,
    name: 'store_commit_rows',
    help: 'Rows in a commit, by table',
    labelNames: OF_QUEUE,
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
  });

  readonly commitDuration = new Histogram({
    registers: this.registers,
    name: 'store_commit_duration_seconds',
    help: 'Time of a commit, with its flush to disk',
    labelNames: OF_QUEUE,
    buckets: STORE_SECONDS,
  });

  readonly readDuration = new Histogram({
    registers: this.registers,
    name: 'store_read_duration_seconds',
    help: 'Time of a statement that reads rows by key or by page',
    labelNames: OF_QUEUE,
    buckets: STORE_SECONDS,
  });

  readonly feedListeners = new Gauge({
    registers: this.registers,
    name: 'change_feed_listeners',
    help: 'Requests that wait for a change',
  });

  private readonly queueRows = new Gauge({
    registers: this.registers,
    name: 'store_queue_rows',
    help: 'Rows that wait for a commit, or to be read',
    labelNames: OF_QUEUE,
    collect: () => {
      this.queueRows.reset();
      for (const measure of this.measureQueues) measure();
    },
  });

  /** @param countWaiting returns how many rows wait in a queue; an operation may have several */
  measureQueue(table: string, operation: string, countWaiting: () => number): void {
    this.measureQueues.push(() => this.queueRows.inc({ table, operation }, countWaiting()));
  }
}

/** Counts the outcomes of one operation on one table, batch by batch. */
export class QueueMetrics {
  private readonly labels;

  /**
   * @param kind whether a batch of the operation is a commit, or a statement that reads
   * @param countWaiting returns how many rows wait
   */
  constructor(
    private readonly metrics: StoreMetrics,
    table: string,
    operation: string,
    private readonly kind: 'commit' | 'read',
    countWaiting: () => number,
  ) {
    this.labels = { table, operation };
    metrics.measureQueue(table, operation, countWaiting);
  }

  /** Observes a batch that has ended, successfully or not. */
  observeBatch(rows: number, seconds: number): void {
    if (this.kind === 'commit') {
      this.metrics.commitRows.observe({ ...this.labels }, rows);
      this.metrics.commitDuration.observe({ ...this.labels }, seconds);
    } else {
      this.metrics.readDuration.observe({ ...this.labels }, seconds);
    }
  }

  /** Counts rows by the outcome of an operation. */
  count(operation: string, outcome: string, rows = 1): void {
    const { table } = this.labels;
    this.metrics.operations.inc({ table, operation, outcome }, rows);
    if (operation === 'create') this.metrics.creates.inc({ table, outcome }, rows);
  }
}
