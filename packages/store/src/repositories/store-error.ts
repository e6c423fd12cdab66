import type { ConstraintError } from '../errors/constraint.error.js';
import type {
  ChangesGoneError,
  DatabaseStartError,
  InvalidCursorError,
  MayBeStoredError,
  StoreOverloadedError,
  StoreUnavailableError,
} from '../errors/store.errors.js';
import type { IncompleteListError } from './list-outcome.js';

/**
 * The errors of the store that a program may catch. Each says in its doc comment what the caller
 * can do. In a service, a request whose handler throws one gets an answer by itself.
 *
 * @example
 * ```ts
 * function isWorthARetry(error: StoreError): boolean {
 *   return error instanceof StoreUnavailableError && !(error instanceof MayBeStoredError);
 * }
 * ```
 */
export type StoreError =
  | ConstraintError
  | InvalidCursorError
  | ChangesGoneError
  | StoreUnavailableError
  | StoreOverloadedError
  | MayBeStoredError
  | IncompleteListError
  | DatabaseStartError;
