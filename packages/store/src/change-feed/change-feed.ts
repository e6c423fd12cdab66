import { setTimeout as sleep } from 'node:timers/promises';
import { BatchQueue } from '../batching/batch-queue.js';
import {
  type ChangePage,
  type ChangeQuery,
  LATEST,
  parseNumber,
  readChanges,
} from './read-changes.js';
import type { StoreDataSource } from '../engine/store-data-source.js';

export { CURSOR, LATEST } from './read-changes.js';

/** How long the feed pauses between looks for new changes while requests wait, in milliseconds. */
const LOOK_MS = 50;
/**
 * How long the feed pauses for each request that it has answered, in milliseconds. The changes of
 * this time share an answer. Otherwise many waiting requests would slow down every write.
 */
const PAUSE_MS_PER_REQUEST = 0.2;
/** How many pages one batch reads. */
const MAX_PAGES = 32;
/** How many changes are removed at a time. */
const REMOVED_AT_ONCE = 1_000;

/**
 * The feed of changes: every committed change and no other, with the changes of one row in their
 * order.
 *
 * @example
 * ```ts
 * const feed = new ChangeFeed(store, 7 * 24 * 60 * 60 * 1_000);
 * const { next } = await feed.read(LATEST, 0);
 * await feed.waitForChange(next, AbortSignal.timeout(30_000));
 * const changes = await feed.read(next, 100);
 * ```
 */
export class ChangeFeed {
  private readonly pages: BatchQueue<ChangeQuery, ChangePage>;
  /** The functions that answer the waiting requests, each with the cursor of its request. */
  private readonly waiting = new Map<() => void, string | undefined>();
  /** The newest cursor that the feed has read; undefined while no request waits. */
  private newest: string | undefined;
  private isLooking = false;
  private isStopping = false;

  /** @param retentionMs how long changes are kept, in milliseconds */
  constructor(
    private readonly store: StoreDataSource,
    private readonly retentionMs: number,
  ) {
    const operation = readChanges(store.changeLog);
    this.pages = new BatchQueue(store, 'pageReaders', 'changes', operation, MAX_PAGES);
  }

  /**
   * Reads changes after a cursor, by default from the oldest change that is kept.
   *
   * @throws ChangesGoneError, StoreUnavailableError
   */
  async read(after: string | undefined, limit: number): Promise<ChangePage> {
    return await this.pages.add({ after, limit });
  }

  /**
   * Waits until there may be a change after a cursor, by default after the beginning of the feed.
   * Resolves also when the signal aborts, when the program stops, and for a cursor that the feed
   * does not have.
   */
  async waitForChange(cursor: string | undefined, signal: AbortSignal): Promise<void> {
    const isBehind = parseNumber(this.newest) > parseNumber(cursor);
    if (isBehind || this.isStopping || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        this.store.metrics.feedListeners.set(this.waiting.size);
        resolve();
      };
      signal.addEventListener('abort', wake);
      this.waiting.set(wake, cursor);
      this.store.metrics.feedListeners.set(this.waiting.size);
      void this.look();
    });
  }

  /** Answers all requests that wait. */
  stop(): void {
    this.isStopping = true;
    for (const wake of this.waiting.keys()) wake();
  }

  /** Looks for new changes, of this program and others, as long as requests wait. */
  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    while (this.waiting.size > 0) {
      // A request that comes during the read may know a newer change than the one that is read.
      const waiting = [...this.waiting];
      // The queue reports failures of the store. The next look may succeed.
      const page = await this.read(LATEST, 0).catch(() => undefined);
      this.newest = page?.next;
      const answered = waiting.filter(
        ([, cursor]) => page !== undefined && isOther(page.next, cursor),
      );
      for (const [wake] of answered) wake();
      const pause = Math.max(LOOK_MS, answered.length * PAUSE_MS_PER_REQUEST);
      await sleep(pause, undefined, { ref: false });
    }
    this.newest = undefined;
    this.isLooking = false;
  }

  /**
   * Removes changes that are too old. The last of them stays, since a client that has read all
   * changes has its cursor. So the feed always has a row, and an idle program writes nothing.
   */
  async removeOld(): Promise<void> {
    const oldest = Date.now() - this.retentionMs;
    if (oldest < 0) return;
    const { table } = this.store.changeLog;
    try {
      const { next } = await this.read(LATEST, 0);
      for (;;) {
        const [found] = await this.store.query<Record<'first' | 'last', number | string | null>[]>(
          `SELECT min(number) AS first, max(number) AS last
           FROM (SELECT number, at FROM ${table} WHERE number <= $1 ORDER BY number LIMIT $2) AS oldest
           WHERE at < $3`,
          [parseNumber(next), REMOVED_AT_ONCE, new Date(oldest).toISOString()],
        );
        if (found === undefined || found.first === found.last) return;
        await this.store.query(`DELETE FROM ${table} WHERE number < $1`, [found.last]);
      }
    } catch (error) {
      this.store.failures.report(error as Error);
    }
  }
}

/** @param known by default the beginning of the feed */
function isOther(newest: string, known: string | undefined): boolean {
  return known === undefined ? parseNumber(newest) > 0 : newest !== known;
}
