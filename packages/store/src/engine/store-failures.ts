import { Logger } from '@nestjs/common';

/** How long repeats of a logged failure are only counted, in milliseconds. */
export const SUPPRESS_MS = 10_000;

/** How many kinds of failures are distinguished at a time. */
const MAX_KINDS = 100;

/**
 * Logs failures of the store: the first one of a kind with its cause, and then the number of
 * repeats. While the store fails, every request may fail, and a line for each would hide the first.
 *
 * @example
 * ```ts
 * const failures: StoreFailures = store.failures;
 * failures.report(new Error('The report of last night failed'));
 * ```
 */
export class StoreFailures {
  private readonly logger = new Logger('Store');
  private readonly counts = new Map<string, number>();

  /** @param fields further fields for the line of the first failure */
  report(error: Error, fields: object = {}): void {
    const kind = error.stack ?? error.message;
    const count = this.counts.get(kind);
    if (count !== undefined) {
      this.counts.set(kind, count + 1);
    } else if (this.counts.size < MAX_KINDS) {
      this.logger.error({ ...fields, err: error });
      this.suppressRepeats(kind, error.message);
    }
  }

  private suppressRepeats(kind: string, message: string): void {
    this.counts.set(kind, 0);
    setTimeout(() => {
      const count = this.counts.get(kind) ?? 0;
      this.counts.delete(kind);
      if (count === 0) return;
      const [reason] = message.split('\n', 1);
      this.logger.error(`The store failed ${count} more times in ${SUPPRESS_MS} ms: ${reason}`);
      this.suppressRepeats(kind, message);
    }, SUPPRESS_MS).unref();
  }
}
