import { type Context, context } from '@opentelemetry/api';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EntityManager } from 'typeorm';
import type { PooledSession, Session, SessionPool, SessionPools } from '../engine/engine.js';
import { ConstraintError } from '../errors/constraint.error.js';
import { joinTransaction } from '../engine/sessions.js';
import type { StoreFailures } from '../engine/store-failures.js';
import { QueueMetrics, type StoreMetrics } from '../engine/store-metrics.js';
import { StoreOverloadedError, StoreUnavailableError } from '../errors/store.errors.js';
import type { TimeLimits } from '../engine/time-limits.js';

/** How many items, and how many bytes of them, may wait. Further items are refused at once. */
export const MAX_WAITING = { items: 10_000, bytes: 32 * 1024 * 1024 };
/** A batch ends with the item that brings it to this many bytes. */
export const MAX_BATCH_BYTES = 16 * 1024 * 1024;
/** How many changes of one row a batch takes: they are made one after another. */
export const MAX_CHANGES_OF_ROW = 32;

/** The result of an item that cannot be executed yet: it waits, and is tried again. */
export const RETRY = Symbol('retry');
/** How long such an item waits, in milliseconds. */
const RETRY_MS = 5;

/** The result of an item that fails. */
export class Failure {
  /** @param reason what its caller gets */
  constructor(readonly reason: unknown) {}
}

/** The result of an item that its own function has refused. */
export class Rejection extends Failure {}

/**
 * The result of an item that the database refuses. It had to be found among the other items of its
 * batch.
 */
export class Refusal extends Failure {}
/**
 * How many times as long as its batch took such an item waits for its answer, so that items that are
 * sent again and again leave three quarters of the time to others.
 */
const REFUSAL_FACTOR = 3;
/** The longest time that it waits, in milliseconds. */
export const MAX_REFUSAL_MS = 1_000;

/** The result of an item. */
export type Result<Outcome> = Outcome | Failure | typeof RETRY;

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

/**
 * The error of all items that are refused or fail, made once: capturing a stack takes a tenth of a
 * refusal's time.
 */
const UNAVAILABLE = new StoreOverloadedError();
const UNAVAILABLE_RESULT = new Failure(UNAVAILABLE);

/** An operation on the rows of a table, for many items at once. */
export interface BatchOperation<Item, Outcome> {
  /** Its name in the metrics. */
  readonly name: string;

  /** The name of an item in the metrics; by default the name of the operation. */
  getName?(item: Item): string;

  /** How many bytes an item holds in memory; 0 by default. */
  measure?(item: Item): number;

  /** The key of the row that an item changes, if any: a batch may have several changes of a row. */
  getKey?(item: Item): string | undefined;

  /** Resolves with the result of each item, in the order of the items. */
  execute(session: Session, items: readonly Item[]): Promise<readonly Result<Outcome>[]>;
}

/** What queues need of their store. */
interface QueueStore {
  readonly pools: SessionPools;
  readonly metrics: StoreMetrics;
  readonly failures: StoreFailures;
  readonly timeLimits: TimeLimits;
}

interface Pending<Item, Outcome> {
  readonly item: Item;
  readonly key: string | undefined;
  /** Whether it has been tried. */
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

type Batch<Item, Outcome> = Pending<Item, Outcome>[];

/**
 * A queue that processes items in batches: items that arrive while a batch runs share the next one,
 * which may begin beside it if a session is free. An item that arrives alone is not delayed.
 *
 * The changes of a row are made in order: those of one batch in their order, and no two batches that
 * run have changes of the same row.
 */
export class BatchQueue<Item, Outcome> {
  /** In the order of their arrival, except that items which are tried again come first. */
  private waiting: Pending<Item, Outcome>[] = [];
  /** The sum of the sizes of `waiting`. */
  private waitingBytes = 0;
  /**
   * The batches that have a session, or wait for one: never more than there are sessions. Batches
   * that wait are empty, so that items which arrive in the meantime share them.
   */
  private readonly inFlight = new Set<Batch<Item, Outcome>>();
  /**
   * The keys of the rows that batches change: no other batch may take a change of one. The keys of
   * a batch that is over stay for RETRY_MS if their changes are tried again.
   */
  private readonly changing = new Set<string>();
  /** How long each of the last batches took, in milliseconds: of one more than there are sessions. */
  private batchTimes: readonly number[] = [];
  /** The answers to refused items. While there are any, a timer runs that will send all answers. */
  private refusals: (() => void)[] = [];
  /** Runs while a session is free for the items that wait, but more of them may arrive. */
  private delayTimer: NodeJS.Timeout | undefined;
  /** Runs while items wait, or batches are in flight. */
  private expiryTimer: NodeJS.Timeout | undefined;
  private readonly sessions: SessionPool;
  private readonly limits: TimeLimits;
  /** Whether a batch is a commit, or a statement that reads. */
  private readonly kind: 'commit' | 'read';
  private readonly metrics: QueueMetrics;

  /**
   * @param pool has the sessions for its batches
   * @param maxItems how many items one batch takes
   */
  constructor(
    private readonly store: QueueStore,
    pool: keyof SessionPools,
    table: string,
    private readonly operation: BatchOperation<Item, Outcome>,
    private readonly maxItems: number,
  ) {
    this.sessions = store.pools[pool];
    this.limits = store.timeLimits;
    this.kind = pool === 'writers' ? 'commit' : 'read';
    const countWaiting = (): number => this.waiting.length;
    this.metrics = new QueueMetrics(store.metrics, table, operation.name, this.kind, countWaiting);
  }

  /**
   * Resolves with the outcome of the item.
   *
   * @throws StoreUnavailableError when the queue is full, or the store fails or takes too long; the
   *   outcome may then be unknown
   */
  add(item: Item): Promise<Outcome> {
    const isFull =
      this.waiting.length >= MAX_WAITING.items || this.waitingBytes >= MAX_WAITING.bytes;
    if (isFull || this.estimateWait() > this.limits.maxExpectedMs) {
      this.countRefused(item);
      return Promise.reject(UNAVAILABLE);
    }
    return new Promise((resolve, reject) => {
      const { operation, limits } = this;
      const size = operation.measure?.(item) ?? 0;
      this.waiting.push({
        item,
        size,
        resolve,
        reject,
        key: operation.getKey?.(item),
        isRetried: false,
        deadline: performance.now() + limits.waitMs,
        context: context.active(),
      });
      this.waitingBytes += size;
      this.expiryTimer ??= setInterval(() => this.expire(), limits.expiryCheckMs).unref();
      this.startSoon();
    });
  }

  /** Adds items as {@link add} does. Resolves with the outcome or the failure of each, in their order. */
  async addAll(items: readonly Item[]): Promise<(Outcome | Failure)[]> {
    const toFailure = (reason: unknown): Failure => new Failure(reason);
    return await Promise.all(items.map((item) => this.add(item).catch(toFailure)));
  }

  /** Executes an item in the transaction of a manager; without one as {@link add} does. */
  execute(item: Item, manager: EntityManager | undefined): Promise<Outcome> {
    if (manager === undefined) return this.add(item);
    return joinTransaction(manager, (session) => this.executeAlone(session, item));
  }

  /** Executes an item without the items of others, in a session of the caller. */
  async executeAlone(session: Session, item: Item): Promise<Outcome> {
    const [result] = await this.executeAllAlone(session, [item]);
    if (result instanceof Failure) throw result.reason;
    return result as Outcome;
  }

  /**
   * Executes items as {@link executeAlone} does. Resolves with the outcome or the failure of each, in
   * their order.
   */
  async executeAllAlone(
    session: Session,
    items: readonly Item[],
    tries = MAX_TRIES_ALONE,
  ): Promise<(Outcome | Failure)[]> {
    const results = await this.tryAlone(session, items, tries);
    const left = items.filter((_, index) => results[index] === RETRY);
    if (left.length === 0) return results as (Outcome | Failure)[];
    const again = await this.executeAllAlone(session, left, tries - 1);
    return results.map(
      (result) => (result === RETRY ? again.shift() : result) as Outcome | Failure,
    );
  }

  private async tryAlone(
    session: Session,
    items: readonly Item[],
    tries: number,
  ): Promise<readonly Result<Outcome>[]> {
    if (tries === 0) return items.map(() => UNAVAILABLE_RESULT);
    try {
      const results = await this.operation.execute(session, items);
      assertComplete(results, items.length);
      return results;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      return items.map(() => new Failure(error));
    }
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
    const first = this.waiting.find(({ key }) => key === undefined || !this.changing.has(key));
    if (first === undefined) return;
    // The statements of the batch belong to the trace of its first item, not to the trace of the
    // batch before. The batch takes its items once it has a session.
    void context.with(first.context, () => this.run());
    // Another session takes the items that do not fit into this batch.
    this.startSoon();
  }

  private async run(): Promise<void> {
    const batch: Batch<Item, Outcome> = [];
    const began = performance.now();
    this.inFlight.add(batch);
    const session = await this.acquire();
    // If no session can be had, only those fail that have waited for it from the beginning.
    this.fill(batch, session === undefined ? began : Infinity);
    const results =
      session === undefined
        ? batch.map(() => UNAVAILABLE_RESULT)
        : await this.executeBatch(session, batch);
    const time = performance.now() - began;
    if (batch.length > 0) {
      this.batchTimes = [time, ...this.batchTimes.slice(0, this.sessions.size)];
      this.metrics.observeBatch(batch.length, time / 1_000);
    }
    this.inFlight.delete(batch);
    this.count(batch, results);
    this.freeRows(batch);
    this.putBack(batch, results);
    // The disk works on the next batch while this one is answered.
    this.startNext();
    if (this.inFlight.size === 0 && this.waiting.length === 0) {
      clearInterval(this.expiryTimer);
      this.expiryTimer = undefined;
    }
    await this.answer(batch, results, time);
  }

  private async acquire(): Promise<PooledSession | undefined> {
    try {
      return await this.sessions.acquire();
    } catch (error) {
      this.store.failures.report(error as Error);
      return undefined;
    }
  }

  /** Executes a batch. If the store fails, all its items do. */
  private async executeBatch(
    session: PooledSession,
    batch: Batch<Item, Outcome>,
  ): Promise<readonly Result<Outcome>[]> {
    let hasFailed = false;
    try {
      if (batch.length === 0) return [];
      const items = batch.map(({ item }) => item);
      const results = await this.operation.execute(session, items);
      assertComplete(results, items.length);
      session.assertSameStore();
      const now = performance.now();
      return results.map((result, index) => {
        const isLate = (batch[index]?.deadline ?? 0) <= now;
        // Otherwise a change might be made after its request was answered 503.
        return result === RETRY && isLate ? UNAVAILABLE_RESULT : result;
      });
    } catch (error) {
      hasFailed = true;
      this.store.failures.report(error as Error);
      return batch.map(() => UNAVAILABLE_RESULT);
    } finally {
      await session.release(hasFailed);
    }
  }

  /** Counts results, each kind once, since finding a counter by its labels takes long. */
  private count(batch: Batch<Item, Outcome>, results: readonly Result<Outcome>[]): void {
    const counts: { operation: string; outcome: string; rows: number }[] = [];
    for (const [index, { item }] of batch.entries()) {
      const result = results[index];
      if (result === RETRY) continue;
      const operation = this.getName(item);
      const outcome = describeResult(result, this.kind);
      const count = counts.find((one) => one.operation === operation && one.outcome === outcome);
      if (count === undefined) counts.push({ operation, outcome, rows: 1 });
      else count.rows++;
    }
    for (const { operation, outcome, rows } of counts) this.metrics.count(operation, outcome, rows);
  }

  /** Lets other batches change the rows of items. */
  private freeRows(items: Batch<Item, Outcome>): void {
    for (const { key } of items) if (key !== undefined) this.changing.delete(key);
  }

  /** Puts the items back that are to be tried again. Their rows are not free until then. */
  private putBack(batch: Batch<Item, Outcome>, results: readonly Result<Outcome>[]): void {
    const items = batch.filter((_, index) => results[index] === RETRY);
    if (items.length === 0) return;
    for (const { key, size } of items) {
      this.waitingBytes += size;
      if (key !== undefined) this.changing.add(key);
    }
    this.waiting.unshift(...items.map((pending) => ({ ...pending, isRetried: true })));
    setTimeout(() => {
      this.freeRows(items);
      this.startSoon();
    }, RETRY_MS);
  }

  /** Answers the items of a batch that took this time, in milliseconds. */
  private async answer(
    batch: Batch<Item, Outcome>,
    results: readonly Result<Outcome>[],
    time: number,
  ): Promise<void> {
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (index > 0 && index % ANSWERS_PER_TURN === 0) await nextTurn();
      const result = results[index];
      if (result === RETRY) continue;
      const hasCostOthers = result instanceof Refusal && batch.length > 1;
      if (hasCostOthers) this.rejectLater(reject, result.reason, time);
      else if (result instanceof Failure) reject(result.reason);
      else resolve(result as Outcome);
    }
  }

  /**
   * Answers a refused item later, since finding it has cost the others of its batch time. All items
   * that are found until then are answered together, so that items which are sent again share few
   * batches.
   *
   * @param time how long its batch took, in milliseconds
   */
  private rejectLater(reject: (error: unknown) => void, reason: unknown, time: number): void {
    this.refusals.push(() => reject(reason));
    if (this.refusals.length > 1) return;
    const delay = Math.min(REFUSAL_FACTOR * time, MAX_REFUSAL_MS);
    setTimeout(() => {
      for (const answer of this.refusals.splice(0)) answer();
    }, delay);
  }

  /**
   * Fills a batch with waiting items.
   *
   * @param arrivedBy the time of the last arrival that it takes
   */
  private fill(batch: Batch<Item, Outcome>, arrivedBy: number): void {
    let bytes = 0;
    const left: Pending<Item, Outcome>[] = [];
    /** How many changes of each row the batch has. */
    const changes = new Map<string, number>();
    for (const pending of this.waiting) {
      const { key, size, deadline, isRetried } = pending;
      const hasSpace = batch.length < this.maxItems && bytes < MAX_BATCH_BYTES;
      // Others do not wait with the items that are tried again.
      const isAlike = batch[0] === undefined || batch[0].isRetried === isRetried;
      const isInTime = deadline - this.limits.waitMs <= arrivedBy;
      if (hasSpace && isAlike && isInTime && this.takeRow(key, changes)) {
        batch.push(pending);
        bytes += size;
      } else {
        left.push(pending);
      }
    }
    this.waitingBytes -= bytes;
    this.waiting = left;
  }

  /**
   * Lets a batch change a row once more. Returns false if it may not.
   *
   * @param changes how many changes of each row the batch has
   */
  private takeRow(key: string | undefined, changes: Map<string, number>): boolean {
    if (key === undefined) return true;
    const count = changes.get(key) ?? 0;
    // The row is another batch's, or this one has enough changes of it.
    if (count === 0 ? this.changing.has(key) : count === MAX_CHANGES_OF_ROW) return false;
    changes.set(key, count + 1);
    this.changing.add(key);
    return true;
  }

  /** Rejects the items that have waited too long, in the queue or in a batch that is stuck. */
  private expire(): void {
    const now = performance.now();
    const late = this.waiting.filter(({ deadline }) => deadline <= now);
    this.waiting = this.waiting.filter(({ deadline }) => deadline > now);
    for (const { item, size } of late) {
      this.waitingBytes -= size;
      this.countRefused(item);
    }
    // If such an item is stored all the same, its result comes later and is ignored.
    for (const batch of this.inFlight) {
      late.push(...batch.filter(({ deadline }) => deadline <= now));
    }
    for (const { reject } of late) reject(UNAVAILABLE);
  }

  private countRefused(item: Item): void {
    this.metrics.count(this.getName(item), 'refused');
  }

  private getName(item: Item): string {
    return this.operation.getName?.(item) ?? this.operation.name;
  }
}

/** @throws Error when an operation has not returned a result for each item */
function assertComplete(results: readonly unknown[], items: number): void {
  if (results.length !== items) {
    throw new Error(`A batch of ${items} items has ${results.length} results`);
  }
}

function describeResult(result: unknown, kind: 'commit' | 'read'): string {
  if (typeof result === 'string') return result;
  if (result instanceof Failure) return describeFailure(result);
  if (result === undefined || result === false) return 'missing';
  return kind === 'commit' ? 'done' : 'found';
}

function describeFailure(failure: Failure): string {
  if (failure.reason instanceof ConstraintError) return 'violation';
  return failure instanceof Rejection ? 'rejected' : 'unavailable';
}
