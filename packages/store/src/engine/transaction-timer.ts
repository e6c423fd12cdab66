import { Logger } from '@nestjs/common';
import { StoreUnavailableError } from '../errors/store.errors.js';

const logger = new Logger('Transactions');

/** A time limit for a transaction, or for a statement outside of one. */
export class TransactionTimer {
  /** Where the transaction began, for the log. */
  readonly origin = new Error('A transaction began here');
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param limit in milliseconds; undefined for none
   * @param onExpiry gets the error for the module that began the transaction
   */
  start(limit: number | undefined, onExpiry: (error: StoreUnavailableError) => void): void {
    this.stop();
    if (limit === undefined) return;
    this.timer = setTimeout(() => {
      logger.warn(
        `A statement or transaction took longer than ${limit} ms (TRANSACTION_TIMEOUT_MS) and was rolled back. It began at:\n${this.origin.stack ?? ''}`,
      );
      const reason = new Error(
        `The statement or transaction took longer than ${limit} ms and was rolled back`,
      );
      onExpiry(new StoreUnavailableError(reason));
    }, limit);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
