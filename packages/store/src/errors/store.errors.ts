import { QueryFailedError } from 'typeorm';

/** The store cannot be opened or copied. The message says what the operator can do. */
export class DatabaseStartError extends Error {
  /** The message is complete for the operator, who needs no stack. */
  readonly isForOperator = true;
}

/**
 * The store failed, or was not free in time. No statement is at fault. A change may or may not have
 * been made: read its row before you repeat it, or repeat it if it does no harm twice.
 */
export class StoreUnavailableError extends QueryFailedError {
  constructor(reason: Error) {
    super('', [], reason);
  }
}

/**
 * The store has refused work because too much of it waits, or has failed and logged why. So this
 * error needs no line in the log. Repeat the work a moment later.
 */
export class StoreOverloadedError extends StoreUnavailableError {
  constructor() {
    super(new Error('The store is unavailable or overloaded; retry in a moment'));
  }
}

/**
 * The store failed while it stored a row whose key it generates. Look for the row before you store
 * it again, or it may be stored twice.
 */
export class MayBeStoredError extends StoreOverloadedError {}

/** A cursor is not from a page of this list. Read the list from its beginning. */
export class InvalidCursorError extends Error {
  override readonly name = 'InvalidCursorError';

  /** @param rule completes a sentence that begins with the name of the parameter */
  constructor(readonly rule: string) {
    super(`The cursor ${rule}`);
  }
}

/** The changes after a cursor are no longer kept. Read everything again, and follow from there. */
export class ChangesGoneError extends Error {
  override readonly name = 'ChangesGoneError';

  constructor() {
    super('The changes after this cursor are no longer kept: read everything again');
  }
}
