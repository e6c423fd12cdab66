import { Logger } from '@nestjs/common';
import type { ObjectLiteral, Repository } from 'typeorm';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { StoreMetrics } from '../metrics/metrics.js';
import { type BulkTable, keyOf } from './bulk-table.js';
import type { StoreDataSource } from './store-data-source.js';
import { WRITE_TIMEOUT_MS } from '../config/time-limits.js';

/** What became of a row: it is on disk, or its key was taken by the same row or by another. */
export type CreateOutcome = 'created' | 'identical' | 'different';

/** What may wait for a commit, beyond which a create is refused at once, and what one commit takes. */
const MAX_WAITING = { rows: 10_000, characters: 32 * 1024 * 1024 };
const MAX_BATCH = { rows: 1_024, characters: 1024 * 1024 };

/**
 * How long creates wait for a commit that is under way, to share the next one, before they get one
 * beside it, in milliseconds. A quick engine is done sooner, and has fewer commits to make; a slow
 * one keeps nobody waiting for the one before.
 */
const BATCH_DELAY_MS = 1;

/** How often creates that have waited too long are looked for, in milliseconds. */
const EXPIRY_CHECK = 250;

interface Create<Row> {
  readonly row: Row;
  /** The characters of its strings. */
  readonly size: number;
  /** When it has waited too long, on the clock that nobody sets. */
  readonly deadline: number;
  readonly resolve: (outcome: CreateOutcome) => void;
  readonly reject: (error: unknown) => void;
}

type Batch<Row> = readonly Create<Row>[];

/**
 * Creates rows of an entity, many to a commit: rows that arrive while a commit is under way share
 * the next one, so that they share its flush to disk. A row that arrives alone is not delayed.
 */
export class GroupCommit<Row extends ObjectLiteral> {
  private readonly logger = new Logger(GroupCommit.name);
  private readonly table: BulkTable<Row>;
  private readonly key: string;
  private readonly metrics: StoreMetrics;
  private readonly waiting: Create<Row>[] = [];
  private waitingSize = 0;
  /** What the last commit took, in milliseconds. */
  private commitTime = 0;
  private readonly underWay = new Set<Batch<Row>>();
  private shareTimer: NodeJS.Timeout | undefined;
  private expiryTimer: NodeJS.Timeout | undefined;

  constructor(repository: Repository<Row>) {
    this.table = (repository.manager.connection as StoreDataSource).bulkTable(repository);
    this.key = keyOf(repository);
    this.metrics = new StoreMetrics(repository.metadata.tableName, () => this.waiting.length);
  }

  /**
   * Resolves once the row is on disk, or its key is known to be taken.
   *
   * @throws ApiError 50300 when too many rows wait, the store fails or takes too long; the row is
   *   then not stored, or its fate is unknown
   */
  create(row: Row): Promise<CreateOutcome> {
    const { waiting } = this;
    if (this.isFull() || this.expectedTime() > WRITE_TIMEOUT_MS) {
      this.metrics.refused();
      return Promise.reject(new ApiError(ErrorCatalogue.UNAVAILABLE));
    }
    return new Promise((resolve, reject) => {
      const size = sizeOf(row);
      waiting.push({ row, size, deadline: performance.now() + WRITE_TIMEOUT_MS, resolve, reject });
      this.waitingSize += size;
      this.expiryTimer ??= setInterval(() => this.expire(), EXPIRY_CHECK).unref();
      this.commitSoon();
    });
  }

  private isFull(): boolean {
    return this.waiting.length >= MAX_WAITING.rows || this.waitingSize >= MAX_WAITING.characters;
  }

  /**
   * What a create that comes now is likely to wait, in milliseconds: what would be too late is better
   * refused at once. With nothing under way the store is tried, however slow it was.
   */
  private expectedTime(): number {
    const { underWay, waiting, waitingSize, table, commitTime } = this;
    if (underWay.size === 0) return 0;
    const batches = Math.max(waiting.length / MAX_BATCH.rows, waitingSize / MAX_BATCH.characters);
    // The one under way comes first, and its own last.
    return (batches / table.concurrency + 2) * commitTime;
  }

  /** At once when nothing is under way or a commit is full, otherwise with what else arrives. */
  private commitSoon(): void {
    const fillsBatch =
      this.waiting.length >= MAX_BATCH.rows || this.waitingSize >= MAX_BATCH.characters;
    if (this.underWay.size === 0 || fillsBatch) {
      this.commitNext();
    } else if (this.underWay.size < this.table.concurrency) {
      this.shareTimer ??= setTimeout(() => this.commitNext(), BATCH_DELAY_MS);
    }
  }

  private commitNext(): void {
    clearTimeout(this.shareTimer);
    this.shareTimer = undefined;
    if (this.waiting.length === 0 || this.underWay.size >= this.table.concurrency) return;
    void this.commit(this.takeBatch());
    if (this.waiting.length > 0) this.commitSoon();
  }

  private takeBatch(): Batch<Row> {
    let size = 0;
    let rows = 0;
    for (const create of this.waiting) {
      if (rows >= MAX_BATCH.rows || size >= MAX_BATCH.characters) break;
      size += create.size;
      rows++;
    }
    this.waitingSize -= size;
    return this.waiting.splice(0, rows);
  }

  private async commit(batch: Batch<Row>): Promise<void> {
    this.underWay.add(batch);
    const began = performance.now();
    const results = await this.insertAll(batch.map(({ row }) => row));
    this.commitTime = performance.now() - began;
    this.metrics.committed(results, this.commitTime / 1_000);
    this.underWay.delete(batch);
    // The disk works on the next batch while this one is answered.
    this.commitNext();
    if (this.underWay.size === 0) this.stopTimer();
    batch.forEach(({ resolve, reject }, index) => {
      const result = results[index];
      if (typeof result === 'string') resolve(result);
      else reject(result);
    });
  }

  /** Answers what has waited too long: what no commit has taken, and what a stuck one holds. */
  private expire(): void {
    const now = performance.now();
    const isLate = ({ deadline }: Create<Row>): boolean => deadline <= now;
    const onTime = this.waiting.findIndex((create) => !isLate(create));
    const late = this.waiting.splice(0, onTime === -1 ? this.waiting.length : onTime);
    for (const { size } of late) this.waitingSize -= size;
    if (late.length > 0) this.metrics.refused(late.length);
    for (const batch of this.underWay) late.push(...batch.filter(isLate));
    for (const { reject } of late) reject(new ApiError(ErrorCatalogue.UNAVAILABLE));
  }

  private stopTimer(): void {
    clearInterval(this.expiryTimer);
    this.expiryTimer = undefined;
  }

  private async insertAll(rows: readonly Row[]): Promise<(CreateOutcome | Error)[]> {
    try {
      return await this.insert(rows);
    } catch (error) {
      const isRowError = this.table.isRowError(error);
      if (isRowError && rows.length > 1) return await this.insertOneByOne(rows);
      const failure = isRowError ? (error as Error) : this.unavailable(error);
      return rows.map(() => failure);
    }
  }

  /** A row that the store refuses fails alone. */
  private async insertOneByOne(rows: readonly Row[]): Promise<(CreateOutcome | Error)[]> {
    const results: (CreateOutcome | Error)[] = [];
    for (const row of rows) results.push(...(await this.insertAll([row])));
    return results;
  }

  private async insert(rows: readonly Row[]): Promise<CreateOutcome[]> {
    // Of the rows with one key the first to arrive wins.
    const first = new Map<unknown, Row>();
    for (const row of rows) {
      if (!first.has(row[this.key])) first.set(row[this.key], row);
    }
    const created = await this.table.insertNew([...first.values()]);
    const isCreated = (row: Row): boolean =>
      first.get(row[this.key]) === row && created.has(row[this.key] as string);
    if (created.size === rows.length) return rows.map(() => 'created');

    const identical = await this.table.findIdentical(rows.filter((row) => !isCreated(row)));
    return rows.map((row) => {
      if (isCreated(row)) return 'created';
      return identical.has(row) ? 'identical' : 'different';
    });
  }

  private unavailable(error: unknown): ApiError {
    this.logger.error(error);
    return new ApiError(ErrorCatalogue.UNAVAILABLE);
  }
}

function sizeOf(row: ObjectLiteral): number {
  let size = 0;
  for (const value of Object.values(row)) {
    if (typeof value === 'string') size += value.length;
  }
  return size;
}
