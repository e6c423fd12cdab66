import { type Context, context } from '@opentelemetry/api';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WRITE_TIMEOUT_MS } from '../../config/env.js';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import { StoreMetrics } from '../../observability/metrics.js';
import { ConstraintError } from '../constraint.error.js';
import { storeFailures } from '../data-source/store-failures.js';
import type { Session, SessionPool } from './session.js';

/** What may wait, beyond which an item is refused at once. */
export const MAX_WAITING = { items: 10_000, characters: 32 * 1024 * 1024 };
/** How many characters one batch takes. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

/**
 * How long items wait for a batch that is under way, in milliseconds, before a second batch starts
 * beside it. A fast engine finishes sooner, and so has fewer batches; with a slow one, items do not
 * wait for the batch before.
 */
const BATCH_DELAY_MS = 1;

/** How many items are answered before the event loop goes on: after a slow flush a batch has hundreds. */
const ANSWERS_PER_TURN = 64;

/** How often items that have waited too long are looked for, in milliseconds. */
const EXPIRY_CHECK_MS = 250;

/**
 * How long an item may be expected to wait, in milliseconds. Less than it may wait, since one that
 * takes a little longer than expected would otherwise be refused only when its time is over.
 */
const MAX_EXPECTED_MS = 0.8 * WRITE_TIMEOUT_MS;

/** One error for all items that are refused or fail: capturing a stack would take a tenth of a refusal's time. */
const UNAVAILABLE = new ApiError(ErrorCatalogue.UNAVAILABLE);

/** An operation on the rows of a table, for many items at once. */
export interface BatchOperation<Item, Outcome> {
  /** Its name in the metrics. */
  readonly name: string;

  /** The error for items that are refused or fail, where it is not the one for all operations. */
  readonly refusal?: ApiError;

  /** How many characters an item holds in memory, or makes the engine hold; none without this. */
  measure?(item: Item): number;

  /**
   * The key of the row that an item writes to. Batches that are under way at once have none in common:
   * one would wait for the lock of the other, and fail where that takes long.
   */
  getKey?(item: Item): string;

  /** What became of the rows of an item that is more than one row, and of how many. */
  countRows?(outcome: Outcome): Iterable<readonly [result: unknown, rows: number]>;

  /** Resolves with the outcome of each item, in their order. */
  execute(session: Session, items: readonly Item[]): Promise<readonly (Outcome | Error)[]>;
}

interface Pending<Item, Outcome> {
  readonly item: Item;
  /** In characters. */
  readonly size: number;
  /** When it has waited too long. */
  readonly deadline: number;
  /** The trace that it belongs to. */
  readonly context: Context;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A queue whose items are processed in batches: those that arrive while a batch is under way share
 * the next one. An item that arrives alone is not delayed.
 */
export class BatchQueue<Item, Outcome> {
  private waiting: Pending<Item, Outcome>[] = [];
  private waitingSize = 0;
  /** Batches that are under way, with the time when each began. */
  private readonly inFlight = new Map<Pending<Item, Outcome>[], number>();
  /** The keys of the rows that the batches under way write to. */
  private readonly held = new Set<string>();
  /** The time that the store took for each of the last two batches, in milliseconds. */
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
    this.metrics = new StoreMetrics(table, operation.name, kind);
    this.metrics.watchQueue(() => this.waiting.length);
  }

  /**
   * Resolves with the outcome of the item.
   *
   * @throws ApiError 50300 when too much waits, the store fails or takes too long; the outcome is
   *   then unknown
   */
  add(item: Item): Promise<Outcome> {
    if (this.isFull() || this.expectedTime() > MAX_EXPECTED_MS) {
      this.metrics.refused();
      return Promise.reject(this.refusal);
    }
    return new Promise((resolve, reject) => {
      const size = this.operation.measure?.(item) ?? 0;
      const deadline = performance.now() + WRITE_TIMEOUT_MS;
      this.waiting.push({ item, size, deadline, context: context.active(), resolve, reject });
      this.waitingSize += size;
      this.expiryTimer ??= setInterval(() => this.expire(), EXPIRY_CHECK_MS).unref();
      this.startSoon();
    });
  }

  private get refusal(): ApiError {
    return this.operation.refusal ?? UNAVAILABLE;
  }

  /** Resolves with the outcome of an item that waits for no batch, in a session of the caller's. */
  async executeAlone(session: Session, item: Item): Promise<Outcome> {
    const [result] = await this.operation.execute(session, [item]);
    if (result instanceof Error) throw result;
    return result as Outcome;
  }

  private isFull(): boolean {
    return this.waiting.length >= MAX_WAITING.items || this.waitingSize >= MAX_WAITING.characters;
  }

  /** How many batches the waiting items fill. */
  private get fullBatches(): number {
    const byItems = this.waiting.length / this.maxItems;
    return Math.floor(Math.max(byItems, this.waitingSize / MAX_BATCH_CHARACTERS));
  }

  /**
   * How long an item that comes now is likely to wait, in milliseconds: one that would be answered too
   * late is better refused at once. With nothing under way the store is tried, however slow it was.
   */
  private expectedTime(): number {
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

  /** Starts a batch at once when none is under way or one is full, otherwise with what else arrives. */
  private startSoon(): void {
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
    const first = this.waiting.find(({ item }) => this.isFree(item));
    if (first === undefined) return;
    // The batch takes its items only once it has a session.
    // Its statements belong to the trace of the first item, not of the batch that ran before.
    void context.with(first.context, () => this.run());
    if (this.waiting.length > 0) this.startSoon();
  }

  private async run(): Promise<void> {
    const batch: Pending<Item, Outcome>[] = [];
    const began = performance.now();
    const before = performance.eventLoopUtilization();
    this.inFlight.set(batch, began);
    const results = await this.execute(batch);
    // Only idle time of the event loop counts as the store's; busy time may be our own.
    const { idle } = performance.eventLoopUtilization(before);
    if (batch.length > 0) {
      this.batchTimes = [idle, ...this.batchTimes.slice(0, 1)];
      this.metrics.done(this.countResults(results), (performance.now() - began) / 1_000);
    }
    this.inFlight.delete(batch);
    for (const { item } of batch) {
      const key = this.operation.getKey?.(item);
      if (key !== undefined) this.held.delete(key);
    }
    // The disk works on the next batch while this one is answered.
    this.startNext();
    if (this.inFlight.size === 0) this.stopTimer();
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (index > 0 && index % ANSWERS_PER_TURN === 0) await nextTurn();
      const result = results[index];
      if (result instanceof Error) reject(result);
      else resolve(result as Outcome);
    }
  }

  /** The number of rows by the name of what became of them. */
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
   * Takes what waits once a session is free, and processes it.
   *
   * @param batch gets the items
   */
  private async execute(batch: Pending<Item, Outcome>[]): Promise<readonly (Outcome | Error)[]> {
    let isBroken = false;
    const session = await this.sessions.acquire().catch((error: unknown) => error as Error);
    try {
      batch.push(...this.takeBatch());
      if (session instanceof Error) throw session;
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
      if (!(session instanceof Error)) session.release(isBroken);
    }
  }

  private takeBatch(): Pending<Item, Outcome>[] {
    let size = 0;
    const taken: Pending<Item, Outcome>[] = [];
    const left: Pending<Item, Outcome>[] = [];
    for (const pending of this.waiting) {
      const hasSpace = taken.length < this.maxItems && size < MAX_BATCH_CHARACTERS;
      if (hasSpace && this.isFree(pending.item)) {
        taken.push(pending);
        size += pending.size;
      } else {
        left.push(pending);
      }
    }
    for (const { item } of taken) {
      const key = this.operation.getKey?.(item);
      if (key !== undefined) this.held.add(key);
    }
    this.waitingSize -= size;
    this.waiting = left;
    return taken;
  }

  private isFree(item: Item): boolean {
    const key = this.operation.getKey?.(item);
    return key === undefined || !this.held.has(key);
  }

  /** Answers what has waited too long: what no batch has taken, and what a stuck one holds. */
  private expire(): void {
    const now = performance.now();
    const isLate = ({ deadline }: Pending<Item, Outcome>): boolean => deadline <= now;
    const onTime = this.waiting.findIndex((pending) => !isLate(pending));
    const late = this.waiting.splice(0, onTime === -1 ? this.waiting.length : onTime);
    for (const { size } of late) this.waitingSize -= size;
    if (late.length > 0) this.metrics.refused(late.length);
    for (const batch of this.inFlight.keys()) late.push(...batch.filter(isLate));
    for (const { reject } of late) reject(this.refusal);
  }

  private stopTimer(): void {
    clearInterval(this.expiryTimer);
    this.expiryTimer = undefined;
  }
}

/** The name of a result in the metrics. */
function describeResult(result: unknown, kind: 'commit' | 'read'): string {
  if (typeof result === 'string') return result;
  if (result instanceof ConstraintError) return 'violation';
  if (result instanceof ApiError && result.status < 500) return 'rejected';
  if (result instanceof Error) return 'unavailable';
  if (result === undefined) return 'missing';
  return kind === 'commit' ? 'done' : 'found';
}
