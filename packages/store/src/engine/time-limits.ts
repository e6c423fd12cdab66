/**
 * How long a caller waits for the store, or for its turn to use it, in milliseconds, by default: 5,000.
 *
 * @example
 * ```ts
 * const signal = AbortSignal.timeout(WAIT_TIMEOUT_MS);
 * ```
 */
export const WAIT_TIMEOUT_MS = 5_000;

/**
 * The shortest time to wait for the store, in milliseconds: 1,000. With less, a busy disk would fail
 * writes.
 *
 * @example
 * ```ts
 * const waitTimeoutMs = Math.max(1_500, MIN_WAIT_TIMEOUT_MS);
 * ```
 */
export const MIN_WAIT_TIMEOUT_MS = 1_000;
/**
 * The longest time to wait for the store, in milliseconds: 20,000. With more, proxies that wait for 30
 * seconds would give up before the program answers.
 *
 * @example
 * ```ts
 * const waitTimeoutMs = Math.min(15_000, MAX_WAIT_TIMEOUT_MS);
 * ```
 */
export const MAX_WAIT_TIMEOUT_MS = 20_000;

/**
 * The times of a store that depend on each other, in whole milliseconds, as databases take them. All
 * follow from the first one, and time-limits.spec.ts has their order.
 */
export class TimeLimits {
  /**
   * The longest expected wait: an item that would wait longer is refused at once. One that takes a
   * little longer than expected is still answered.
   */
  readonly maxExpectedMs = this.take(4 / 5);

  /** How often a queue looks for items that have waited too long. */
  readonly expiryCheckMs = this.take(1 / 20);

  /** After this time a server aborts a statement, whose caller still waits. */
  readonly statementMs = this.take(4 / 5);

  /** How much longer than a time limit of a server the program waits for the server's answer. */
  readonly answerMarginMs = this.take(1 / 10);

  /**
   * How long a batch waits for the answer of a server. The server aborts a statement before, unless
   * the connection is dead.
   */
  readonly answerMs = this.statementMs + this.answerMarginMs;

  /** How long it may take to connect to a server. */
  readonly connectMs = this.take(2 / 5);

  /**
   * After this time a server ends the transaction of a batch, and frees the rows that it has locked.
   * By then no caller waits for the batch.
   */
  readonly batchMs = 2 * this.waitMs;

  /**
   * How long a migration waits for the lock of a table. All other statements on the table wait behind
   * it.
   */
  readonly tableLockMs = this.take(1 / 100);

  /** How long a statement waits for another process that has locked the file, such as a backup. */
  readonly fileLockMs = this.take(2 / 5);

  /** How long new reads of modules wait for an instant at which the write-ahead log can be emptied. */
  readonly maxPauseMs = this.take(4 / 5);

  /** How long emptying the log may then keep writers waiting. */
  readonly maxStallMs = this.take(1 / 25);

  /** @throws RangeError when it is not in the range, where the times have their order */
  constructor(readonly waitMs = WAIT_TIMEOUT_MS) {
    const isInRange = waitMs >= MIN_WAIT_TIMEOUT_MS && waitMs <= MAX_WAIT_TIMEOUT_MS;
    if (Number.isInteger(waitMs) && isInRange) return;
    throw new RangeError(
      `The time to wait for the store must be a whole number of milliseconds from ${MIN_WAIT_TIMEOUT_MS} to ${MAX_WAIT_TIMEOUT_MS}, not ${waitMs}`,
    );
  }

  private take(share: number): number {
    return Math.floor(share * this.waitMs);
  }
}
