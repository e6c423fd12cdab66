import { Logger } from '@nestjs/common';
import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';

/** Passes the lock to the next writer. Further calls do nothing. */
export type ReleaseLock = () => void;

/**
 * The lock for the one writer that SQLite allows, first come, first served. A writer that waited in
 * SQLite's busy handler would hold a thread that the current writer may need to finish.
 *
 * A batch serves many requests: while batches wait, every second writer is a batch.
 */
export class FairWriteLock {
  private readonly logger = new Logger(FairWriteLock.name);
  private readonly batches: (() => void)[] = [];
  private readonly others: (() => void)[] = [];
  private isTaken = false;
  private wasBatch = false;
  /** Where the transaction that holds the lock began. */
  private origin: Error | undefined;

  /** Acquires the lock for a batch: synchronously if it is free. */
  acquireForBatch(): ReleaseLock | Promise<ReleaseLock> {
    if (!this.isTaken) return this.take(true);
    return new Promise((resolve) => this.batches.push(() => resolve(this.take(true))));
  }

  /**
   * Acquires the lock for a transaction, or for a statement outside of one.
   *
   * @param origin where the transaction began, for the log
   * @throws ApiError 50300 when the lock is not free within {@link WAIT_TIMEOUT_MS}
   */
  acquire(origin?: Error): ReleaseLock | Promise<ReleaseLock> {
    if (!this.isTaken) return this.take(false, origin);
    return new Promise((resolve, reject) => {
      const grant = (): void => {
        clearTimeout(timer);
        resolve(this.take(false, origin));
      };
      const timer = setTimeout(() => {
        this.others.splice(this.others.indexOf(grant), 1);
        this.logger.warn(this.describeTimeout());
        reject(new ApiError(ErrorCatalogue.UNAVAILABLE));
      }, WAIT_TIMEOUT_MS);
      this.others.push(grant);
    });
  }

  private take(isBatch: boolean, origin?: Error): ReleaseLock {
    this.isTaken = true;
    this.wasBatch = isBatch;
    this.origin = origin;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.isTaken = false;
      this.grantNext();
    };
  }

  private grantNext(): void {
    const isBatch = this.batches.length > 0 && (!this.wasBatch || this.others.length === 0);
    const grant = (isBatch ? this.batches : this.others).shift();
    grant?.();
  }

  private describeTimeout(): string {
    const reason = `A statement was refused after it had waited ${WAIT_TIMEOUT_MS} ms for the write lock`;
    return this.origin?.stack === undefined
      ? reason
      : `${reason}. A statement inside a transaction must use the transaction's manager. The transaction that holds the lock began at:\n${this.origin.stack}`;
  }
}
