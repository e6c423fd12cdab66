import { type Context, context } from '@opentelemetry/api';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import { StoreMetrics } from '../../observability/metrics.js';
import { ConstraintError } from '../constraint.error.js';
import { storeFailures } from '../data-source/store-failures.js';
import type { PooledSession, Session, SessionPool } from './session.js';

/** How many items, and how many bytes of them, may wait. Further items are refused at once. */
export const MAX_WAITING = { items: 10_000, bytes: 32 * 1024 * 1024 };
/** A batch ends with the item that brings it to this many bytes. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/** The result of an item whose row another session holds: it waits, and is tried again. */
export const RETRY = Symbol('retry');

/** The result of an item: its outcome, its error, or {@link RETRY}. */
export type Result<Outcome> = Outcome | Error | typeof RETRY;

/** How long such an item waits, in milliseconds. */
const RETRY_MS = 5;

/**
 * How long items wait for a running batch before a second one starts beside it, in milliseconds. A
 * fast engine finishes within this time, and so runs fewer and larger batches. With a slow engine,
 * items need not wait for the end of the running batch.
 */
const BATCH_DELAY_MS = 1;

/**
 * How many items are answered before the event loop gets a turn: after a slow flush a batch has
 * hundreds.
 */
const ANSWERS_PER_TURN = 64;

/** How often an item in a module's transaction is tried before it fails. */
const MAX_TRIES_ALONE = 3;

/** How often the queue looks for items that have waited too long, in milliseconds. */
const EXPIRY_CHECK_MS = 250;

/**
 * The longest expected wait, in milliseconds: an item that would wait longer is refused at once.
 * This is less than an item may wait, so that one which takes a little longer than expected is still
 * answered.
 */
const MAX_EXPECTED_MS = 0.8 * WAIT_TIMEOUT_MS;

/**
 * One error for all items that are refused or fail: capturing a stack takes a tenth of a refusal's
 * time.
 */
const UNAVAILABLE = new ApiError(ErrorCatalogue.UNAVAILABLE);

/** An operation on the rows of a table, for many items at once. */
export interface BatchOperation<Item, Outcome> {
  /** Its name in the metrics. */
  readonly name: string;

  /** The name of an item in the metrics; by default that of the operation. */
  getName?(item: Item): string;

  /** How many bytes an item holds in memory; 0 by default. */
  measure?(item: Item): number;

  /** The key of the row that an item changes, if any. */
  getKey?(item: Item): string | undefined;

  /** Resolves with the result of each item, in the order of the items. */
  execute(session: Session, items: readonly Item[]): Promise<readonly Result<Outcome>[]>;
}

interface Pending<Item, Outcome> {
  readonly item: Item;
  readonly key: string | undefined;
  /** Whether another session held its row when it was tried. */
  readonly isRetried: boolean;
  /** In bytes. */
  readonly size: number;
  /** As a time of `performance.now()`. */
  readonly deadline: number;
  /** The trace context of its caller. */
  readonly context: Context;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A queue that processes items in batches: items that arrive while a batch runs share the next one,
 * which may begin beside it if a session is free. An item that arrives alone is not delayed.
 *
 * Each row has at most one change in the batches that run, so its changes are made in order.
 */
export class BatchQueue<Item, Outcome> {
  private waiting: Pending<Item, Outcome>[] = [];
  private waitingBytes = 0;
  private readonly inFlight = new Set<readonly Pending<Item, Outcome>[]>();
  /** The keys of the rows that running batches change, or that another session holds. */
  private readonly busyKeys = new Set<string>();
  /** How long each of the last batches took, in milliseconds: of one more than there are sessions. */
  private batchTimes: readonly number[] = [];
  private delayTimer: NodeJS.Timeout | undefined;
  private expiryTimer: NodeJS.Timeout | undefined;
  private readonly metrics: StoreMetrics;

  /**
   * @param kind whether a batch of the operation is a commit, or a statement that reads
   * @param maxItems how many items one batch takes
   */
  constructor(
    table: string,
    private readonly operation: BatchOperation<Item, Outcome>,
    private readonly kind: 'commit' | 'read',
    private readonly sessions: SessionPool,
    private readonly maxItems: number,
  ) {
    this.metrics = new StoreMetrics(table, operation.name, kind, () => this.waiting.length);
  }

  /**
   * Resolves with the outcome of the item.
   *
   * @throws ApiError 50300 when the queue is full, or the store fails or takes too long; the
   *   outcome may then be unknown
   */
  add(item: Item): Promise<Outcome> {
    const isFull =
      this.waiting.length >= MAX_WAITING.items || this.waitingBytes >= MAX_WAITING.bytes;
    if (isFull || this.estimateWait() > MAX_EXPECTED_MS) {
      this.countRefused(item);
      return Promise.reject(UNAVAILABLE);
    }
    return new Promise((resolve, reject) => {
      const { operation } = this;
      const size = operation.measure?.(item) ?? 0;
      this.waiting.push({
        item,
        size,
        resolve,
        reject,
        key: operation.getKey?.(item),
        isRetried: false,
        deadline: performance.now() + WAIT_TIMEOUT_MS,
        context: context.active(),
      });
      this.waitingBytes += size;
      this.expiryTimer ??= setInterval(() => this.expire(), EXPIRY_CHECK_MS).unref();
      this.startSoon();
    });
  }

  /** Executes an item without a batch, in a session of the caller. */
  async executeAlone(session: Session, item: Item): Promise<Outcome> {
    for (let tries = 0; tries < MAX_TRIES_ALONE; tries++) {
      const [result] = await this.operation.execute(session, [item]);
      if (result instanceof Error) throw result;
      if (result !== RETRY) return result as Outcome;
    }
    throw UNAVAILABLE;
  }

  /** How many full batches are waiting. */
  private get fullBatches(): number {
    const byItems = this.waiting.length / this.maxItems;
    return Math.floor(Math.max(byItems, this.waitingBytes / MAX_BATCH_BYTES));
  }

  /**
   * Estimates how long an item that arrives now will wait, in milliseconds. An item that would be
   * answered too late is better refused at once. Without a running batch the estimate is 0, so that
   * a store that was slow is tried again.
   */
  private estimateWait(): number {
    const { size } = this.sessions;
    if (this.inFlight.size === 0 || this.batchTimes.length <= size) return 0;
    const before = Math.floor(this.fullBatches / size);
    // The minimum, so that the estimate is right though the first batch of each session connects.
    return (before + 1) * Math.min(...this.batchTimes);
  }

  /**
   * Starts a batch at once if none is running, or if the items for a full one are waiting. Otherwise,
   * if a session is free, it starts one after a delay in which more items may arrive.
   */
  private startSoon(): void {
    if (this.waiting.length === 0) return;
    if (this.inFlight.size === 0 || this.fullBatches > 0) {
      this.startNext();
    } else if (this.inFlight.size < this.sessions.size) {
      this.delayTimer ??= setTimeout(() => this.startNext(), BATCH_DELAY_MS);
    }
  }

  private startNext(): void {
    clearTimeout(this.delayTimer);
    this.delayTimer = undefined;
    if (this.inFlight.size >= this.sessions.size) return;
    const first = this.waiting.find((pending) => this.isFree(pending));
    if (first === undefined) return;
    // The statements of the batch belong to the trace of its first item, not to that of the batch
    // before. The batch takes its items once it has a session.
    void context.with(first.context, () => this.run());
    this.startSoon();
  }

  private async run(): Promise<void> {
    const batch: Pending<Item, Outcome>[] = [];
    const began = performance.now();
    this.inFlight.add(batch);
    const results = await this.execute(batch);
    const time = performance.now() - began;
    if (batch.length > 0) {
      this.batchTimes = [time, ...this.batchTimes.slice(0, this.sessions.size)];
      this.metrics.observeBatch(batch.length, time / 1_000);
    }
    this.inFlight.delete(batch);
    this.count(batch, results);
    this.freeKeys(batch, results);
    // The disk works on the next batch while this one is answered.
    this.startNext();
    if (this.inFlight.size === 0 && this.waiting.length === 0) {
      clearInterval(this.expiryTimer);
      this.expiryTimer = undefined;
    }
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (index > 0 && index % ANSWERS_PER_TURN === 0) await nextTurn();
      const result = results[index];
      if (result === RETRY) continue;
      if (result instanceof Error) reject(result);
      else resolve(result as Outcome);
    }
  }

  private count(batch: readonly Pending<Item, Outcome>[], results: readonly unknown[]): void {
    const counts = new Map<string, number>();
    for (const [index, { item }] of batch.entries()) {
      const result = results[index];
      if (result === RETRY) continue;
      const name = `${this.getName(item)} ${describeResult(result, this.kind)}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    for (const [name, rows] of counts) {
      const [operation = '', outcome = ''] = name.split(' ');
      this.metrics.count(operation, outcome, rows);
    }
  }

  /** Lets the rows of a batch be changed again: those that another session holds after a delay. */
  private freeKeys(batch: readonly Pending<Item, Outcome>[], results: readonly unknown[]): void {
    const held: Pending<Item, Outcome>[] = [];
    for (const [index, pending] of batch.entries()) {
      const { key, size } = pending;
      if (results[index] === RETRY) {
        held.push({ ...pending, isRetried: true });
        this.waitingBytes += size;
      } else if (key !== undefined) this.busyKeys.delete(key);
    }
    if (held.length === 0) return;
    this.waiting.unshift(...held);
    setTimeout(() => {
      for (const { key } of held) if (key !== undefined) this.busyKeys.delete(key);
      this.startSoon();
    }, RETRY_MS);
  }

  /**
   * Takes waiting items once a session is free, and executes them. If no session can be had, they
   * fail.
   *
   * @param batch is filled with the items
   */
  private async execute(batch: Pending<Item, Outcome>[]): Promise<readonly Result<Outcome>[]> {
    let hasFailed = false;
    let session: PooledSession | undefined;
    try {
      try {
        session = await this.sessions.acquire();
      } finally {
        batch.push(...this.takeBatch());
      }
      if (batch.length === 0) return [];
      const items = batch.map(({ item }) => item);
      const results = await this.operation.execute(session, items);
      session.assertSameStore();
      const now = performance.now();
      // Otherwise a change might be made after its request was answered 503.
      const isOver = (index: number): boolean => (batch[index]?.deadline ?? 0) <= now;
      return results.map((one, index) => (one === RETRY && isOver(index) ? UNAVAILABLE : one));
    } catch (error) {
      hasFailed = true;
      storeFailures.report(error as Error);
      return batch.map(() => UNAVAILABLE);
    } finally {
      await session?.release(hasFailed);
    }
  }

  private takeBatch(): Pending<Item, Outcome>[] {
    let bytes = 0;
    const taken: Pending<Item, Outcome>[] = [];
    const left: Pending<Item, Outcome>[] = [];
    for (const pending of this.waiting) {
      const hasSpace = taken.length < this.maxItems && bytes < MAX_BATCH_BYTES;
      // Others do not wait with the items whose rows another session holds.
      const fits = (taken[0] ?? pending).isRetried === pending.isRetried;
      if (hasSpace && fits && this.isFree(pending)) {
        taken.push(pending);
        bytes += pending.size;
        if (pending.key !== undefined) this.busyKeys.add(pending.key);
      } else {
        left.push(pending);
      }
    }
    this.waitingBytes -= bytes;
    this.waiting = left;
    return taken;
  }

  private isFree({ key }: Pending<Item, Outcome>): boolean {
    return key === undefined || !this.busyKeys.has(key);
  }

  /** Rejects the items that have waited too long, in the queue or in a batch that is stuck. */
  private expire(): void {
    const now = performance.now();
    const isLate = ({ deadline }: Pending<Item, Outcome>): boolean => deadline <= now;
    const late = this.waiting.filter(isLate);
    this.waiting = this.waiting.filter((pending) => !isLate(pending));
    for (const { item, size } of late) {
      this.waitingBytes -= size;
      this.countRefused(item);
    }
    for (const batch of this.inFlight) late.push(...batch.filter(isLate));
    for (const { reject } of late) reject(UNAVAILABLE);
  }

  private countRefused(item: Item): void {
    this.metrics.count(this.getName(item), 'refused');
  }

  private getName(item: Item): string {
    return this.operation.getName?.(item) ?? this.operation.name;
  }
}

function describeResult(result: unknown, kind: 'commit' | 'read'): string {
  if (typeof result === 'string') return result;
  if (result instanceof ConstraintError) return 'violation';
  if (result instanceof ApiError && result.status < 500) return 'rejected';
  if (result instanceof Error) return 'unavailable';
  if (result === undefined || result === false) return 'missing';
  return kind === 'commit' ? 'done' : 'found';
}
