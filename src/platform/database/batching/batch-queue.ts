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

/** How many items, and how many characters in them, may wait. Further items are refused at once. */
export const MAX_WAITING = { items: 10_000, characters: 32 * 1024 * 1024 };
/** How many characters one batch takes, unless its operation takes fewer. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;
/**
 * How many writes to the same row one batch takes. They are made one after the other while other
 * writers wait, and each may leave a version of the row, which the engine has to pass until the
 * transaction ends.
 */
const MAX_WRITES_PER_ROW = 8;

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

  /** The error for items that are refused or fail; by default a general 50300. */
  readonly refusal?: ApiError;

  /** How many characters an item holds in memory, or makes the engine hold; 0 by default. */
  measure?(item: Item): number;

  /** How many characters one batch takes. */
  readonly maxCharacters?: number;

  /**
   * The key of the row that an item locks, for {@link HeldRows}. Undefined for operations that only
   * insert or read.
   */
  getKey?(item: Item): string;

  /** For items of several rows: the results, each with its number of rows. */
  countRows?(outcome: Outcome): Iterable<readonly [result: unknown, rows: number]>;

  /** Resolves with the outcome of each item, in the order of the items. */
  execute(session: Session, items: readonly Item[]): Promise<readonly (Outcome | Error)[]>;
}

interface Pending<Item, Outcome> {
  readonly item: Item;
  /** In characters. */
  readonly size: number;
  /** As a time of `performance.now()`. */
  readonly deadline: number;
  /** The trace context of its caller. */
  readonly context: Context;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The rows that running batches lock, by their keys. The queues of a repository share them.
 * Concurrent batches must not write to the same row: one would wait for the lock of the other, and
 * fail after a timeout.
 */
export class HeldRows {
  readonly keys = new Set<string>();
  /** Starts the next batch of each queue. */
  readonly starters = new Set<() => void>();
}

/**
 * A queue that processes items in batches: items that arrive while a batch runs share the next one,
 * which may begin beside it if a session is free. An item that arrives alone is not delayed, unless
 * its row is held.
 */
export class BatchQueue<Item, Outcome> {
  private waiting: Pending<Item, Outcome>[] = [];
  private waitingSize = 0;
  /** The running batches, each with the time when it began. */
  private readonly inFlight = new Map<Pending<Item, Outcome>[], number>();
  /** The time that the store took for each of the last two batches, in milliseconds. */
  private batchTimes: readonly number[] = [];
  private delayTimer: NodeJS.Timeout | undefined;
  private expiryTimer: NodeJS.Timeout | undefined;
  private readonly maxCharacters: number;
  private readonly metrics: StoreMetrics;

  /**
   * @param kind whether a batch of the operation is a commit, or a statement that reads
   * @param maxItems how many items one batch takes
   * @param held the rows of batches that run, shared by the queues of a repository
   */
  constructor(
    table: string,
    private readonly operation: BatchOperation<Item, Outcome>,
    private readonly kind: 'commit' | 'read',
    private readonly sessions: SessionPool,
    private readonly maxItems: number,
    private readonly held = new HeldRows(),
  ) {
    this.maxCharacters = operation.maxCharacters ?? MAX_BATCH_CHARACTERS;
    held.starters.add(this.startSoon);
    this.metrics = new StoreMetrics(table, operation.name, kind);
    this.metrics.watchQueue(() => this.waiting.length);
  }

  /**
   * Resolves with the outcome of the item.
   *
   * @throws ApiError 50300 when the queue is full, or the store fails or takes too long; the
   *   outcome may then be unknown
   */
  add(item: Item): Promise<Outcome> {
    if (this.isFull() || this.estimateWait() > MAX_EXPECTED_MS) {
      this.metrics.countRefused();
      return Promise.reject(this.refusal);
    }
    return new Promise((resolve, reject) => {
      const size = this.operation.measure?.(item) ?? 0;
      const deadline = performance.now() + WAIT_TIMEOUT_MS;
      this.waiting.push({ item, size, deadline, context: context.active(), resolve, reject });
      this.waitingSize += size;
      this.expiryTimer ??= setInterval(() => this.expire(), EXPIRY_CHECK_MS).unref();
      this.startSoon();
    });
  }

  private get refusal(): ApiError {
    return this.operation.refusal ?? UNAVAILABLE;
  }

  /** Executes an item without a batch, in a session of the caller. */
  async executeAlone(session: Session, item: Item): Promise<Outcome> {
    const [result] = await this.operation.execute(session, [item]);
    if (result instanceof Error) throw result;
    return result as Outcome;
  }

  private isFull(): boolean {
    return this.waiting.length >= MAX_WAITING.items || this.waitingSize >= MAX_WAITING.characters;
  }

  /** How many full batches are waiting. */
  private get fullBatches(): number {
    const byItems = this.waiting.length / this.maxItems;
    return Math.floor(Math.max(byItems, this.waitingSize / this.maxCharacters));
  }

  /**
   * Estimates how long an item that arrives now will wait, in milliseconds. An item that would be
   * answered too late is better refused at once. Without a running batch the estimate is 0, so that
   * a store that was slow is tried again.
   */
  private estimateWait(): number {
    const { inFlight, batchTimes } = this;
    const { size } = this.sessions;
    if (inFlight.size === 0 || batchTimes.length === 0) return 0;
    // The minimum of the last two, so that one slow batch does not skew the estimate.
    const batchTime = Math.min(...batchTimes);
    const [oldest = 0] = inFlight.values();
    const left = Math.max(0, oldest + batchTime - performance.now());
    const before = Math.floor(this.fullBatches / size) * batchTime;
    return (inFlight.size < size ? 0 : left) + before + batchTime;
  }

  /**
   * Starts a batch at once if none is running, or if the items for a full one are waiting. Otherwise,
   * if a session is free, it starts one after a delay in which more items may arrive.
   */
  private readonly startSoon = (): void => {
    if (this.waiting.length === 0) return;
    if (this.inFlight.size === 0 || this.fullBatches > 0) {
      this.startNext();
    } else if (this.inFlight.size < this.sessions.size) {
      this.delayTimer ??= setTimeout(() => this.startNext(), BATCH_DELAY_MS);
    }
  };

  private startNext(): void {
    clearTimeout(this.delayTimer);
    this.delayTimer = undefined;
    if (this.inFlight.size >= this.sessions.size) return;
    const first = this.waiting.find(({ item }) => this.isFree(this.operation.getKey?.(item)));
    if (first === undefined) return;
    // The statements of the batch belong to the trace of its first item, not to that of the batch
    // before. The batch takes its items once it has a session.
    void context.with(first.context, () => this.run());
    this.startSoon();
  }

  private async run(): Promise<void> {
    const batch: Pending<Item, Outcome>[] = [];
    const began = performance.now();
    const before = performance.eventLoopUtilization();
    this.inFlight.set(batch, began);
    const results = await this.execute(batch);
    // Only idle time of the event loop counts as time of the store; busy time may be our own.
    const { idle } = performance.eventLoopUtilization(before);
    if (batch.length > 0) {
      this.batchTimes = [idle, ...this.batchTimes.slice(0, 1)];
      this.metrics.countBatch(this.countResults(results), (performance.now() - began) / 1_000);
    }
    this.inFlight.delete(batch);
    for (const { item } of batch) {
      const key = this.operation.getKey?.(item);
      if (key !== undefined) this.held.keys.delete(key);
    }
    // The other queues come first, so that all get their turn to write to a row.
    for (const start of this.held.starters) if (start !== this.startSoon) start();
    // The disk works on the next batch while this one is answered.
    this.startNext();
    if (this.inFlight.size === 0 && this.waiting.length === 0) this.stopTimer();
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (index > 0 && index % ANSWERS_PER_TURN === 0) await nextTurn();
      const result = results[index];
      if (result instanceof Error) reject(result);
      else resolve(result as Outcome);
    }
  }

  /** Counts rows by the names of their results. */
  private countResults(results: readonly (Outcome | Error)[]): Map<string, number> {
    const counts = new Map<string, number>();
    const count = (result: unknown, rows: number): void => {
      const name = describeResult(result, this.kind);
      counts.set(name, (counts.get(name) ?? 0) + rows);
    };
    for (const result of results) {
      const rows = result instanceof Error ? undefined : this.operation.countRows?.(result);
      if (rows === undefined) count(result, 1);
      else for (const one of rows) count(...one);
    }
    return counts;
  }

  /**
   * Takes waiting items once a session is free, and executes them. If no session can be had, they
   * fail.
   *
   * @param batch is filled with the items
   */
  private async execute(batch: Pending<Item, Outcome>[]): Promise<readonly (Outcome | Error)[]> {
    let isBroken = false;
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
      return results;
    } catch (error) {
      isBroken = true;
      storeFailures.report(error as Error);
      return batch.map(() => this.refusal);
    } finally {
      session?.release(isBroken);
    }
  }

  private takeBatch(): Pending<Item, Outcome>[] {
    let size = 0;
    const taken: Pending<Item, Outcome>[] = [];
    const left: Pending<Item, Outcome>[] = [];
    const writes = new Map<string, number>();
    for (const pending of this.waiting) {
      const key = this.operation.getKey?.(pending.item);
      const writesToRow = key === undefined ? 0 : (writes.get(key) ?? 0);
      const hasSpace =
        taken.length < this.maxItems &&
        size < this.maxCharacters &&
        writesToRow < MAX_WRITES_PER_ROW;
      if (hasSpace && this.isFree(key)) {
        taken.push(pending);
        size += pending.size;
        if (key !== undefined) writes.set(key, writesToRow + 1);
      } else {
        left.push(pending);
      }
    }
    for (const key of writes.keys()) this.held.keys.add(key);
    this.waitingSize -= size;
    this.waiting = left;
    return taken;
  }

  private isFree(key: string | undefined): boolean {
    return key === undefined || !this.held.keys.has(key);
  }

  /** Rejects the items that have waited too long, in the queue or in a batch that is stuck. */
  private expire(): void {
    const now = performance.now();
    const isLate = ({ deadline }: Pending<Item, Outcome>): boolean => deadline <= now;
    const onTime = this.waiting.findIndex((pending) => !isLate(pending));
    const late = this.waiting.splice(0, onTime === -1 ? this.waiting.length : onTime);
    for (const { size } of late) this.waitingSize -= size;
    if (late.length > 0) this.metrics.countRefused(late.length);
    for (const batch of this.inFlight.keys()) late.push(...batch.filter(isLate));
    for (const { reject } of late) reject(this.refusal);
  }

  private stopTimer(): void {
    clearInterval(this.expiryTimer);
    this.expiryTimer = undefined;
  }
}

/** Returns the name of a result in the metrics. */
function describeResult(result: unknown, kind: 'commit' | 'read'): string {
  if (typeof result === 'string') return result;
  if (result instanceof ConstraintError) return 'violation';
  if (result instanceof ApiError && result.status < 500) return 'rejected';
  if (result instanceof Error) return 'unavailable';
  if (result === undefined) return 'missing';
  return kind === 'commit' ? 'done' : 'found';
}
