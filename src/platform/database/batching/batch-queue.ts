import { type Context, context } from '@opentelemetry/api';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WRITE_TIMEOUT_MS } from '../../config/time-limits.js';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import type { StoreMetrics } from '../../observability/metrics.js';
import { ConstraintError } from '../constraint.error.js';
import { storeFailures } from '../data-source/store-failures.js';

/** What may wait, beyond which an item is refused at once. */
const MAX_WAITING = { items: 10_000, characters: 32 * 1024 * 1024 };
/** How many characters one batch takes. */
const MAX_BATCH_CHARACTERS = 1024 * 1024;

/**
 * How long items wait for a batch that is under way, in milliseconds, before a second batch starts
 * beside it. A fast engine finishes sooner, and so has fewer batches; with a slow one, items do not
 * wait for the batch before.
 */
const BATCH_DELAY_MS = 1;

/** How many are answered before the event loop goes on: after a slow flush a batch has hundreds. */
const ANSWERS_A_TURN = 64;

/** How often items that have waited too long are looked for, in milliseconds. */
const EXPIRY_CHECK_MS = 250;

/**
 * How long an item may be expected to wait, in milliseconds. Less than it may wait, since one that
 * takes a little longer than expected would otherwise be refused only when its time is over.
 */
const MAX_EXPECTED_MS = 0.8 * WRITE_TIMEOUT_MS;

/** One for all that are refused or fail: to note the stack of each would take a tenth of the time of a refusal. */
const UNAVAILABLE = new ApiError(ErrorCatalogue.UNAVAILABLE);

interface Pending<Item, Outcome> {
  readonly item: Item;
  /** The characters of its strings. */
  readonly size: number;
  /** When it has waited too long. */
  readonly deadline: number;
  /** The trace that it belongs to. */
  readonly context: Context;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

interface Options<Item, Outcome> {
  /** How many batches may be under way at the same time. */
  readonly concurrency: number;
  readonly maxBatchItems: number;
  /** The characters of an item's strings. */
  readonly sizeOf: (item: Item) => number;
  /**
   * Processes what waits, and resolves with the outcome of each item.
   *
   * @param take takes the items, once it is their turn
   */
  readonly perform: (take: () => Item[]) => Promise<readonly (Outcome | Error)[]>;
  readonly metrics: StoreMetrics;
}

/**
 * A queue whose items are processed in batches: those that arrive while a batch is under way share
 * the next one. An item that arrives alone is not delayed.
 */
export class BatchQueue<Item, Outcome> {
  private readonly waiting: Pending<Item, Outcome>[] = [];
  private waitingSize = 0;
  /** Batches that are under way, with the time when each began. */
  private readonly inFlight = new Map<Pending<Item, Outcome>[], number>();
  /**
   * What each of the last two batches took, in milliseconds. The less of both is what a batch takes:
   * one that was slow alone says nothing of those that follow.
   */
  private batchTimes: readonly number[] = [];
  private delayTimer: NodeJS.Timeout | undefined;
  private expiryTimer: NodeJS.Timeout | undefined;

  constructor(private readonly options: Options<Item, Outcome>) {
    options.metrics.watchQueue(() => this.waiting.length);
  }

  /**
   * Resolves with the outcome of the item.
   *
   * @throws ApiError 50300 when too much waits, the store fails or takes too long; the outcome is
   *   then unknown
   */
  add(item: Item): Promise<Outcome> {
    if (this.isFull() || this.expectedTime() > MAX_EXPECTED_MS) {
      this.options.metrics.refused();
      return Promise.reject(UNAVAILABLE);
    }
    return new Promise((resolve, reject) => {
      const size = this.options.sizeOf(item);
      const deadline = performance.now() + WRITE_TIMEOUT_MS;
      this.waiting.push({ item, size, deadline, context: context.active(), resolve, reject });
      this.waitingSize += size;
      this.expiryTimer ??= setInterval(() => this.expire(), EXPIRY_CHECK_MS).unref();
      this.startSoon();
    });
  }

  private isFull(): boolean {
    return this.waiting.length >= MAX_WAITING.items || this.waitingSize >= MAX_WAITING.characters;
  }

  /** How many batches are full of what waits. */
  private get fullBatches(): number {
    const byItems = this.waiting.length / this.options.maxBatchItems;
    return Math.floor(Math.max(byItems, this.waitingSize / MAX_BATCH_CHARACTERS));
  }

  /**
   * How long an item that comes now is likely to wait, in milliseconds: what would be too late is
   * better refused at once. With nothing under way the store is tried, however slow it was.
   */
  private expectedTime(): number {
    const { inFlight } = this;
    const { concurrency } = this.options;
    if (inFlight.size === 0 || this.batchTimes.length === 0) return 0;
    const batchTime = Math.min(...this.batchTimes);
    const [oldest = 0] = inFlight.values();
    const left = Math.max(0, oldest + batchTime - performance.now());
    const before = Math.floor(this.fullBatches / concurrency) * batchTime;
    return (inFlight.size < concurrency ? 0 : left) + before + batchTime;
  }

  /** At once when nothing is under way or a batch is full, otherwise with what else arrives. */
  private startSoon(): void {
    if (this.inFlight.size === 0 || this.fullBatches > 0) {
      this.startNext();
    } else if (this.inFlight.size < this.options.concurrency) {
      this.delayTimer ??= setTimeout(() => this.startNext(), BATCH_DELAY_MS);
    }
  }

  private startNext(): void {
    clearTimeout(this.delayTimer);
    this.delayTimer = undefined;
    const [first] = this.waiting;
    if (first === undefined || this.inFlight.size >= this.options.concurrency) return;
    // Its statements belong to the trace of the first item, not of the batch that ran before.
    void context.with(first.context, () => this.run());
    if (this.waiting.length > 0) this.startSoon();
  }

  private async run(): Promise<void> {
    const batch: Pending<Item, Outcome>[] = [];
    const began = performance.now();
    this.inFlight.set(batch, began);
    const results = await this.perform(batch);
    const batchTime = performance.now() - began;
    this.batchTimes = [batchTime, ...this.batchTimes.slice(0, 1)];
    this.options.metrics.done(results.map(labelOf), batchTime / 1_000);
    this.inFlight.delete(batch);
    // The disk works on the next batch while this one is answered.
    this.startNext();
    if (this.inFlight.size === 0) this.stopTimer();
    for (const [index, { resolve, reject }] of batch.entries()) {
      if (index > 0 && index % ANSWERS_A_TURN === 0) await nextTurn();
      const result = results[index];
      if (result instanceof Error) reject(result);
      else resolve(result as Outcome);
    }
  }

  private async perform(batch: Pending<Item, Outcome>[]): Promise<readonly (Outcome | Error)[]> {
    const take = (): Item[] => {
      batch.push(...this.takeBatch());
      return batch.map(({ item }) => item);
    };
    try {
      return await this.options.perform(take);
    } catch (error) {
      // When it failed before it could begin, it would fail again for what waits.
      if (batch.length === 0) take();
      storeFailures.report(error as Error);
      return batch.map(() => UNAVAILABLE);
    }
  }

  private takeBatch(): Pending<Item, Outcome>[] {
    let size = 0;
    let items = 0;
    for (const pending of this.waiting) {
      if (items >= this.options.maxBatchItems || size >= MAX_BATCH_CHARACTERS) break;
      size += pending.size;
      items++;
    }
    this.waitingSize -= size;
    return this.waiting.splice(0, items);
  }

  /** Answers what has waited too long: what no batch has taken, and what a stuck one holds. */
  private expire(): void {
    const now = performance.now();
    const isLate = ({ deadline }: Pending<Item, Outcome>): boolean => deadline <= now;
    const onTime = this.waiting.findIndex((pending) => !isLate(pending));
    const late = this.waiting.splice(0, onTime === -1 ? this.waiting.length : onTime);
    for (const { size } of late) this.waitingSize -= size;
    if (late.length > 0) this.options.metrics.refused(late.length);
    for (const batch of this.inFlight.keys()) late.push(...batch.filter(isLate));
    for (const { reject } of late) reject(UNAVAILABLE);
  }

  private stopTimer(): void {
    clearInterval(this.expiryTimer);
    this.expiryTimer = undefined;
  }
}

/** What the metrics call a result. */
function labelOf(result: unknown): string {
  if (typeof result === 'string') return result;
  if (result instanceof ConstraintError) return 'violation';
  if (result instanceof Error) return 'unavailable';
  return result === undefined ? 'missing' : 'found';
}
