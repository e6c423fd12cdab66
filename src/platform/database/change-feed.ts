import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { setTimeout as sleep } from 'node:timers/promises';
import { Env } from '../config/env.js';
import { parseDuration } from '../config/setting-formats.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { feedListeners, updateFeedDelay } from '../observability/metrics.js';
import { BatchQueue } from './batching/batch-queue.js';
import {
  type FeedPage,
  type PageRequest,
  type Progress,
  ReadFeedPages,
  ReadProgress,
  removeChangesBefore,
} from './change-feed/change-log.js';
import { storeFailures } from './data-source/store-failures.js';
import type { StoreDataSource } from './data-source/store-data-source.js';
import { type Items, iterate } from './iterate.js';
import { JobRunner } from './job-runner.js';

/** How often the feed queries the store for changes of other programs, in milliseconds. */
const POLL_MS = 1_000;
/** How long the feed gathers commits before it reads the progress, in milliseconds. */
const GATHER_MS = 50;
/**
 * How much longer the feed waits for each listener before it wakes all of them, in milliseconds.
 * Otherwise many listeners would slow down every write.
 */
const GATHER_MS_PER_LISTENER = 0.25;
/**
 * How often the feed queries the store for changes that wait for open transactions, in
 * milliseconds.
 */
const SETTLE_MS = 10;
/** How long a request for the newest cursor waits for open transactions, in milliseconds. */
const MAX_WAIT_MS = 4_000;
/** How often changes that are too old are removed, in milliseconds. */
const RETENTION_MS = 60_000;
/** How many changes one page for listeners has. */
const FOLLOWED_CHANGES = 1_000;
/** How many pages are kept for listeners at different places. */
const MAX_SHARED = 16;

const CURSOR = /^([\w-]{12})\.(0|[1-9]\d{0,14})$/;

/** A change of a row. */
export interface Change {
  readonly cursor: string;
  /** What happened, such as `plant.created`. */
  readonly type: string;
  /** The whole change, as JSON. */
  readonly json: string;
}

/** Changes, oldest first. */
export interface ChangePage {
  readonly changes: readonly Change[];
  /** The cursor of the last change, to continue with. */
  readonly cursor: string;
}

/** Performs a read once it is the turn of the listener. */
export type InTurn = <Result>(read: () => Promise<Result>) => Promise<Result>;

/** A place in the feed: after the change with this number. */
interface Position {
  readonly epoch: string;
  readonly number: number;
}

/**
 * The feed of changes: every committed change and no other, with the changes of one row in their
 * order.
 */
@Injectable()
export class ChangeFeed implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly progress: BatchQueue<undefined, Progress>;
  private readonly pages: BatchQueue<PageRequest, FeedPage>;
  private readonly retentionMs: number;
  /**
   * The last pages that listeners have requested, by the number before the page. Cleared by new
   * changes.
   */
  private readonly shared = new Map<number, Promise<ChangePage | undefined>>();
  private last: Progress | undefined;
  private next = new Signal();
  private listeners = 0;
  /** How many times the program has begun to look for settled changes. */
  private looks = 0;
  private announcing: NodeJS.Timeout | undefined;
  private waking: NodeJS.Timeout | undefined;
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly stopping = new AbortController();

  constructor(
    @InjectDataSource() private readonly store: StoreDataSource,
    private readonly jobs: JobRunner,
    { CHANGE_RETENTION }: Env,
  ) {
    // Reads of the progress must not overlap, since the engine compares each with the one before.
    const readers = { size: 1, acquire: () => store.rowReaders.acquire() };
    const readProgress = new ReadProgress(store.changeLog);
    this.progress = new BatchQueue('changes', readProgress, 'read', readers, 10_000);
    this.pages = new BatchQueue('changes', new ReadFeedPages(), 'read', store.pageReaders, 1);
    this.retentionMs = parseDuration(CHANGE_RETENTION) ?? Infinity;
  }

  onModuleInit(): void {
    const announce = (): void => {
      this.announcing ??= setTimeout(() => void this.announce(), GATHER_MS);
    };
    // onCommit reports batches; the subscriber reports transactions of TypeORM.
    this.store.onCommit = announce;
    this.store.subscribers.push({ afterTransactionCommit: announce });
    this.store.changeLog.listen(() => void this.lookForListeners());
    this.timers.push(
      setInterval(() => void this.poll(), POLL_MS).unref(),
      setInterval(() => void this.removeOld().catch(report), RETENTION_MS).unref(),
    );
  }

  /** Lets the listeners get the changes that are committed already, and then ends them. */
  beforeApplicationShutdown(): void {
    this.stopping.abort();
    this.wakeListeners();
  }

  onApplicationShutdown(): void {
    for (const timer of this.timers) clearInterval(timer);
    clearTimeout(this.announcing);
    clearTimeout(this.waking);
  }

  /**
   * Waits for transactions that were open when this program first read the progress, since until
   * then it knows of no settled change. After some seconds returns an older cursor.
   *
   * @throws ApiError 50300
   */
  async getLatestCursor(): Promise<string> {
    const end = performance.now() + MAX_WAIT_MS;
    for (;;) {
      const { epoch, newest, settled, removed } = await this.readProgress();
      const isKnown = settled > removed || settled >= newest;
      if (isKnown || performance.now() > end) return writeCursor({ epoch, number: settled });
      await sleep(SETTLE_MS);
    }
  }

  /**
   * Reads changes after a cursor, by default from the oldest change that is kept.
   *
   * @throws ApiError 40003, 41000, 50300
   */
  async read(after: string | undefined, limit: number): Promise<ChangePage> {
    const progress = await this.readProgress();
    const number = after === undefined ? progress.removed : checkCursor(after, progress).number;
    const page = await this.readPage({ epoch: progress.epoch, number }, progress.settled, limit);
    if (page !== undefined) return page;
    // The oldest changes have been removed meanwhile.
    if (after === undefined) return await this.read(after, limit);
    throw new ApiError(ErrorCatalogue.CHANGES_GONE);
  }

  /** @throws ApiError 40003, 41000, 50300 when the feed cannot be read from this cursor on */
  async assertReadable(after: string): Promise<void> {
    checkCursor(after, await this.readProgress());
  }

  /**
   * Yields changes after a cursor as they are committed, and an empty page about once per second.
   * Ends when the program stops, the store fails, no turn comes in time, or changes are removed
   * before they were read. A client that continues from the last cursor misses nothing, or gets
   * 41000.
   */
  follow(after: string, signal: AbortSignal, inTurn: InTurn): Items<ChangePage> {
    let position = readCursor(after);
    this.count(1);
    const readNext = async (): Promise<ChangePage | undefined> => {
      try {
        if (position === undefined || signal.aborted) return undefined;
        const page = await this.awaitPage(position, inTurn);
        position = page && readCursor(page.cursor);
        return page;
      } catch (error) {
        // The queues report failures of the store themselves.
        if (!signal.aborted && !(error instanceof ApiError)) report(error);
        return undefined;
      }
    };
    return iterate(readNext, () => this.count(-1));
  }

  /** Reads the page after a position. If it is empty, waits for the next change or poll. */
  private async awaitPage(position: Position, inTurn: InTurn): Promise<ChangePage | undefined> {
    const event = this.next;
    const page = await this.readShared(position, inTurn);
    if (page?.changes.length === 0) {
      if (this.stopping.signal.aborted && !(await this.hasMore(position))) return undefined;
      await event.fired;
    }
    return page;
  }

  private count(change: number): void {
    this.listeners += change;
    feedListeners.set(this.listeners);
  }

  private async hasMore({ number }: Position): Promise<boolean> {
    return (await this.readProgress()).settled > number;
  }

  /** Reads the current progress. Waiting calls share one statement. */
  private async readProgress(): Promise<Progress & { readonly epoch: string }> {
    const progress = await this.progress.add(undefined);
    const { epoch, newest, settled } = progress;
    // Another program has switched the feed off since this one lost its connection.
    if (epoch === undefined) throw new ApiError(ErrorCatalogue.UNAVAILABLE);
    const hasAdvanced = epoch !== this.last?.epoch || settled > this.last.settled;
    if (hasAdvanced) {
      this.last = progress;
      this.shared.clear();
      const delay = this.listeners * GATHER_MS_PER_LISTENER;
      this.waking ??= setTimeout(() => this.wakeListeners(), delay);
    }
    updateFeedDelay(newest > settled, hasAdvanced);
    return { ...progress, epoch };
  }

  /**
   * Reads a page once for all listeners that continue from the same change. Each listener takes a
   * turn even if the page is known, since thousands that send large pages would delay all requests.
   */
  private async readShared(position: Position, inTurn: InTurn): Promise<ChangePage | undefined> {
    const { epoch, settled } = this.last ?? (await this.readProgress());
    if (epoch !== position.epoch) return undefined;
    if (settled <= position.number) return { changes: [], cursor: writeCursor(position) };
    return await inTurn(() => this.readAndShare(position, settled));
  }

  private async readAndShare(position: Position, until: number): Promise<ChangePage | undefined> {
    const { shared } = this;
    // While this listener waited for its turn, another one may have begun to read the page.
    const page = shared.get(position.number) ?? this.readPage(position, until, FOLLOWED_CHANGES);
    shared.set(position.number, page);
    const [oldest] = shared.keys();
    if (shared.size > MAX_SHARED && oldest !== undefined) shared.delete(oldest);
    return await page.catch((error: unknown) => {
      if (shared.get(position.number) === page) shared.delete(position.number);
      throw error;
    });
  }

  /** @returns undefined if changes after this position have been removed */
  private async readPage(
    position: Position,
    until: number,
    limit: number,
  ): Promise<ChangePage | undefined> {
    if (until <= position.number) return { changes: [], cursor: writeCursor(position) };
    const { epoch, removed, rows } = await this.pages.add({ after: position.number, until, limit });
    if (epoch !== position.epoch || removed > position.number) return undefined;
    const changes = rows.map(({ number, at, type, id, data }): Change => {
      const cursor = writeCursor({ epoch, number });
      const row = data === null ? '' : `,"data":${data}`;
      const json = `{"cursor":"${cursor}","type":"${type}","id":${id},"at":"${at}"${row}}`;
      return { cursor, type, json };
    });
    return { changes, cursor: changes.at(-1)?.cursor ?? writeCursor(position) };
  }

  private wakeListeners(): void {
    clearTimeout(this.waking);
    this.waking = undefined;
    const { next } = this;
    this.next = new Signal();
    next.fire();
  }

  /** Tells other programs and the listeners that this program has committed something. */
  private async announce(): Promise<void> {
    this.announcing = undefined;
    this.store.changeLog.notify();
    await this.lookForListeners();
  }

  /**
   * Reads the progress until all present changes are settled, as long as there are listeners. The
   * newest call goes on in place of those before.
   */
  private async lookForListeners(): Promise<void> {
    const look = ++this.looks;
    const began = performance.now();
    try {
      while (look === this.looks && this.listeners > 0 && !this.stopping.signal.aborted) {
        const { newest, settled } = await this.readProgress();
        if (settled >= newest) return;
        // The longer a transaction has been open, the longer the pause.
        await sleep(Math.max(SETTLE_MS, (performance.now() - began) / 10));
      }
    } catch (error) {
      report(error);
    }
  }

  private async poll(): Promise<void> {
    await this.readProgress().catch(report);
    this.wakeListeners();
  }

  /** Removes changes older than the retention, unless another program does so in this minute. */
  async removeOld(): Promise<void> {
    const now = await this.store.readClock();
    const { settled } = await this.readProgress();
    const minute = new Date(now - (now % RETENTION_MS));
    await this.jobs.runOnce('remove old changes', minute, (signal) =>
      removeChangesBefore(this.store, now - this.retentionMs, settled, signal),
    );
  }
}

/** An event that happens once, for all that wait for it. */
class Signal {
  fire: () => void = () => undefined;
  readonly fired = new Promise<void>((resolve) => (this.fire = resolve));
}

function report(error: unknown): void {
  storeFailures.report(error as Error);
}

function writeCursor({ epoch, number }: Position): string {
  return `${epoch}.${number}`;
}

/** @returns undefined if the text is no cursor */
function readCursor(cursor: string): Position | undefined {
  const [, epoch, number] = CURSOR.exec(cursor) ?? [];
  return epoch === undefined ? undefined : { epoch, number: Number(number) };
}

/** @throws ApiError 40003, 41000 */
function checkCursor(cursor: string, { epoch, removed, newest }: Progress): Position {
  const position = readCursor(cursor);
  if (position === undefined) throw invalid('it is not a cursor of this feed');
  if (position.epoch !== epoch || position.number < removed) {
    throw new ApiError(ErrorCatalogue.CHANGES_GONE);
  }
  if (position.number > newest) throw invalid('there is no such change yet');
  return position;
}

function invalid(reason: string): ApiError {
  return new ApiError(
    ErrorCatalogue.INVALID_PARAMETERS,
    `The cursor, in after or Last-Event-ID, is not valid: ${reason}`,
  );
}
