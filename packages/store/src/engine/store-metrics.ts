import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const SECONDS = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05],
  ...[0.1, 0.25, 0.5, 1, 2.5, 5, 10],
];

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
    help: 'Rows by table, operation and outcome',
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
    buckets: SECONDS,
  });

  readonly readDuration = new Histogram({
    registers: this.registers,
    name: 'store_read_duration_seconds',
    help: 'Time of a statement that reads rows by key or by page',
    labelNames: OF_QUEUE,
    buckets: SECONDS,
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
