import { Logger } from '@nestjs/common';

/** For how long a failure that is logged is then only counted, in milliseconds. */
const QUIET_MS = 10_000;

/** So many kinds of failures are told apart at a time. */
const MAX_KINDS = 100;

/**
 * The log of a failing store: the first failure of a kind with its cause, and then how many followed.
 * Every request that needs the store may fail, and a line for each would hide the first.
 */
class StoreFailures {
  private readonly logger = new Logger('Store');
  private readonly counts = new Map<string, number>();

  /** @param fields what else the line of the first failure has */
  report(error: Error, fields: object = {}): void {
    const kind = error.stack ?? error.message;
    const count = this.counts.get(kind);
    if (count !== undefined) {
      this.counts.set(kind, count + 1);
    } else if (this.counts.size < MAX_KINDS) {
      this.logger.error({ ...fields, err: error });
      this.beQuiet(kind, error.message);
    }
  }

  private beQuiet(kind: string, message: string): void {
    this.counts.set(kind, 0);
    setTimeout(() => {
      const count = this.counts.get(kind) ?? 0;
      this.counts.delete(kind);
      if (count === 0) return;
      this.logger.error(`The store failed ${count} more times in ${QUIET_MS} ms: ${message}`);
      this.beQuiet(kind, message);
    }, QUIET_MS).unref();
  }
}

export const storeFailures = new StoreFailures();

/** The code of a driver's or the system's error, or an empty string. */
export function getErrorCode(error: unknown): string {
  return (error as { code?: string } | undefined)?.code ?? '';
}
