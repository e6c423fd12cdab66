import { Logger } from '@nestjs/common';
import { StoreUnavailableError } from '../errors/store.errors.js';

const logger = new Logger('Transactions');

/** How often a statement that takes too long is interrupted until it ends, in milliseconds. */
const INTERRUPT_MS = 100;

/** A time limit for a transaction, or for a statement outside of one. */
export class TransactionTimer {
  /** Where the transaction began, for the log. */
  readonly origin = new Error('A transaction began here');
  /** The error for the module that began the transaction, once the time limit is over. */
  expired: StoreUnavailableError | undefined;
  private timer: NodeJS.Timeout | undefined;
  private interrupts: NodeJS.Timeout | undefined;

  /**
   * @param limit in milliseconds; undefined for none
   * @param interrupt interrupts the statement. It is called until the timer is stopped, since it has
   *   no effect before the statement has begun.
   */
  start(
    limit: number | undefined,
    onExpiry: (error: StoreUnavailableError) => void,
    interrupt?: () => void,
  ): void {
    this.stop();
    if (limit === undefined) return;
    this.timer = setTimeout(() => {
      logger.warn(
        `A statement or transaction took longer than ${limit} ms (TRANSACTION_TIMEOUT_MS) and was rolled back. It began at:\n${this.origin.stack ?? ''}`,
      );
      const reason = new Error(
        `The statement or transaction took longer than ${limit} ms and was rolled back`,
      );
      this.expired = new StoreUnavailableError(reason);
      if (interrupt !== undefined) {
        interrupt();
        this.interrupts = setInterval(interrupt, INTERRUPT_MS);
      }
      onExpiry(this.expired);
    }, limit);
  }

  stop(): void {
    clearTimeout(this.timer);
    clearInterval(this.interrupts);
  }
}
