import { QueryFailedError } from 'typeorm';

/**
 * The store cannot be opened or copied. Show the message to the operator: it says what to do.
 *
 * @example
 * ```ts
 * await openDatabase(options).catch((error: unknown) => {
 *   if (error instanceof DatabaseStartError) console.error(error.message);
 *   throw error;
 * });
 * ```
 */
export class DatabaseStartError extends Error {
  /** The message is complete for the operator, who needs no stack. */
  readonly isForOperator = true;
}

/**
 * The store failed, or was not free in time. No statement is at fault. Read the row of a change
 * before you repeat it, or repeat it if it does no harm twice: it may or may not have been made.
 *
 * @example
 * ```ts
 * try {
 *   await store.transaction((manager) => sales.add(sale, manager));
 * } catch (error) {
 *   if (error instanceof StoreUnavailableError) throw new ApiError(SaleErrors.MAY_BE_SOLD);
 *   throw error;
 * }
 * ```
 */
export class StoreUnavailableError extends QueryFailedError {
  constructor(reason: Error) {
    super('', [], reason);
  }
}

/**
 * The store has refused work because too much of it waits, or has failed and logged why. Repeat the
 * work after a second. The error needs no line in the log.
 *
 * @example
 * ```ts
 * try {
 *   await plants.find(1n);
 * } catch (error) {
 *   if (!(error instanceof StoreOverloadedError)) console.error(error);
 * }
 * ```
 */
export class StoreOverloadedError extends StoreUnavailableError {
  constructor() {
    super(new Error('The store is unavailable or overloaded; retry in a moment'));
  }
}

/**
 * The store failed while it stored a row whose key it generates. Look for the row before you store
 * it again, or it may be stored twice.
 *
 * @example
 * ```ts
 * try {
 *   await sales.add(sale);
 * } catch (error) {
 *   if (error instanceof MayBeStoredError) throw new ApiError(SaleErrors.MAY_BE_SOLD);
 *   throw error;
 * }
 * ```
 */
export class MayBeStoredError extends StoreOverloadedError {}

/**
 * A cursor is not from a page of this list. Read the list from its beginning.
 *
 * @example
 * ```ts
 * try {
 *   await plants.page({ limit: 100, after: 'Wy' });
 * } catch (error) {
 *   if (error instanceof InvalidCursorError) await plants.page({ limit: 100 });
 *   else throw error;
 * }
 * ```
 */
export class InvalidCursorError extends Error {
  override readonly name = 'InvalidCursorError';

  /** @param rule completes a sentence that begins with the name of the parameter */
  constructor(readonly rule: string) {
    super(`The cursor ${rule}`);
  }
}

/**
 * The changes after a cursor are no longer kept. Read everything again, and follow from there.
 *
 * @example
 * ```ts
 * try {
 *   await feed.read(after, 100);
 * } catch (error) {
 *   if (error instanceof ChangesGoneError) await feed.read(undefined, 100);
 *   else throw error;
 * }
 * ```
 */
export class ChangesGoneError extends Error {
  override readonly name = 'ChangesGoneError';

  constructor() {
    super('The changes after this cursor are no longer kept: read everything again');
  }
}
