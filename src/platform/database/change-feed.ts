import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { InjectDataSource } from '@nestjs/typeorm';
import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Env } from '../config/env.js';
import { feedListeners } from '../observability/metrics.js';
import { BatchQueue } from './batching/batch-queue.js';
import {
  type ChangePage,
  type ChangeQuery,
  LATEST,
  ReadChanges,
} from './change-feed/read-changes.js';
import type { StoreDataSource } from './data-source/store-data-source.js';
import { storeFailures } from './data-source/store-failures.js';

export { CURSOR, LATEST } from './change-feed/read-changes.js';

/** How long the feed pauses between looks for new changes while requests wait, in milliseconds. */
const LOOK_MS = 50;
/**
 * How long the feed pauses after a change for each waiting request, in milliseconds. The changes of
 * this time share an answer. Otherwise many waiting requests would slow down every write.
 */
const PAUSE_MS_PER_REQUEST = 0.2;
/** How many pages one batch reads. */
const MAX_PAGES = 32;
/** How many pages are kept for requests at different places. */
const MAX_SHARED = 16;
/** How often changes that are too old are removed, in milliseconds. */
const RETENTION_MS = 60_000;
/** How many changes are removed at a time. */
const REMOVED_AT_ONCE = 1_000;

/**
 * The feed of changes: every committed change and no other, with the changes of one row in their
 * order.
 */
@Injectable()
export class ChangeFeed implements BeforeApplicationShutdown {
  private readonly pages: BatchQueue<ChangeQuery, ChangePage>;
  private readonly retentionMs: number;
  /** Emits `change` when there are new changes. */
  private readonly events = new EventEmitter().setMaxListeners(0);
  private waiting = 0;
  /** What the last look has found; undefined while no request waits. */
  private newest: ChangePage | undefined;
  /** Pages up to the newest change for requests that wait, since many wait for the same one. */
  private readonly shared = new Map<string, Promise<ChangePage>>();
  private isLooking = false;
  private isStopping = false;

  constructor(
    @InjectDataSource() private readonly store: StoreDataSource,
    { CHANGE_RETENTION }: Env,
  ) {
    const readChanges = new ReadChanges(store.changeLog.settle);
    const { pageReaders } = store;
    this.pages = new BatchQueue<ChangeQuery, ChangePage>(
      'changes',
      readChanges,
      'read',
      pageReaders,
      MAX_PAGES,
    );
    this.retentionMs = CHANGE_RETENTION;
  }

  /**
   * Reads changes after a cursor, by default from the oldest change that is kept.
   *
   * @param mayWait whether the request would wait for a change; it then gets no change that those
   *   who wait have not been woken for
   * @throws ApiError 41000, 50300
   */
  async read(after: string | undefined, limit: number, mayWait = false): Promise<ChangePage> {
    const until = this.newest?.number;
    if (!mayWait || until === undefined) {
      return await this.pages.add({ after, limit, until: Infinity });
    }
    const key = `${after} ${limit}`;
    const page = this.shared.get(key) ?? this.pages.add({ after, limit, until });
    if (this.shared.size < MAX_SHARED) {
      this.shared.set(key, page);
      page.catch(() => this.shared.delete(key));
    }
    return await page;
  }

  /**
   * Waits for a change after this number.
   *
   * @returns whether there is one; false also when the signal aborts or the program stops
   */
  async waitForChange(number: number, signal: AbortSignal): Promise<boolean> {
    feedListeners.set(++this.waiting);
    void this.look();
    try {
      while (!this.isStopping && (this.newest?.number ?? 0) <= number) {
        await once(this.events, 'change', { signal });
      }
      return !this.isStopping;
    } catch {
      // The signal has aborted.
      return false;
    } finally {
      feedListeners.set(--this.waiting);
    }
  }

  /** Answers all requests that wait. */
  beforeApplicationShutdown(): void {
    this.isStopping = true;
    this.events.emit('change');
  }

  /** Looks for new changes, of this program and others, as long as requests wait. */
  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    // Requests that are being answered wait again soon.
    let crowd = 0;
    do {
      // The queue reports failures of the store. The next look may succeed.
      const latest = await this.read(LATEST, 0).catch(() => undefined);
      crowd = Math.max(this.waiting, 0.9 * crowd);
      let pause = LOOK_MS;
      if (latest !== undefined && latest.cursor !== this.newest?.cursor) {
        pause = Math.max(LOOK_MS, crowd * PAUSE_MS_PER_REQUEST);
        this.newest = latest;
        this.shared.clear();
        this.events.emit('change');
      }
      await sleep(pause, undefined, { ref: false });
    } while (crowd >= 1 && !this.isStopping);
    this.newest = undefined;
    this.shared.clear();
    this.isLooking = false;
  }

  @Interval(RETENTION_MS)
  protected async removeOldChanges(): Promise<void> {
    await this.removeOld().catch((error: unknown) => storeFailures.report(error as Error));
  }

  /**
   * Removes changes that are too old. The last of them stays, since a client that has read all
   * changes has its cursor. So the feed always has a row, and an idle program writes nothing.
   */
  async removeOld(): Promise<void> {
    const oldest = Date.now() - this.retentionMs;
    if (oldest < 0) return;
    const { number: settled } = await this.read(LATEST, 0);
    for (;;) {
      const [found] = await this.store.query<Record<'first' | 'last', number | string | null>[]>(
        `SELECT min(number) AS first, max(number) AS last
         FROM (SELECT number, at FROM changes WHERE number <= $1 ORDER BY number LIMIT $2) AS oldest
         WHERE at < $3`,
        [settled, REMOVED_AT_ONCE, new Date(oldest).toISOString()],
      );
      if (found === undefined || found.first === found.last) return;
      await this.store.query('DELETE FROM changes WHERE number < $1', [found.last]);
    }
  }
}
