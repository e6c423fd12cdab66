import {
  ChangesGoneError,
  ConstraintError,
  type ConstraintKind,
  IncompleteListError,
  InvalidCursorError,
  MayBeStoredError,
  StoreOverloadedError,
  StoreUnavailableError,
} from 'durable-store';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorKind, MAY_BE_STORED } from '../errors/error-catalogue.js';
import { findConstraintAnswer } from './constraint-rules.js';

// The one place where an error of the store becomes an error for a client.

/** The messages for violated constraints for which no module has named an error. */
const MESSAGES: Readonly<Partial<Record<ConstraintKind, string>>> = {
  'foreign key': 'The request refers to something that does not exist',
  referenced: 'Another row refers to this one',
  unique: 'A value that must be unique is already in use',
  exclusion: 'A value conflicts with that of another row',
  check: 'A value breaks a rule of the store',
};

/**
 * Makes the error that a client gets for an error of the store; undefined for any other error.
 *
 * @example
 * ```ts
 * @Catch(ConstraintError)
 * class ConstraintFilter implements ExceptionFilter {
 *   catch(error: ConstraintError): void {
 *     console.log(toApiError(error)?.body.error);
 *   }
 * }
 * ```
 */
export function toApiError(error: unknown): ApiError | undefined {
  if (error instanceof ConstraintError) return describeViolation(error);
  if (error instanceof MayBeStoredError) return new ApiError(MAY_BE_STORED);
  if (error instanceof StoreUnavailableError) return new ApiError(ErrorCatalogue.UNAVAILABLE);
  if (error instanceof ChangesGoneError) return new ApiError(ErrorCatalogue.CHANGES_GONE);
  if (error instanceof InvalidCursorError) {
    const message = `The query is not valid: after ${error.rule}`;
    return new ApiError(ErrorCatalogue.INVALID_PARAMETERS, message);
  }
  return undefined;
}

/** Finds the kind of error that a client gets for a violated constraint. */
export function getConstraintAnswer(error: ConstraintError): ErrorKind {
  return describeViolation(error).body;
}

/** A violation without an error of its module gets 40999, or 50000 for a missing value. */
function describeViolation(error: ConstraintError): ApiError {
  const declared = findConstraintAnswer(error);
  if (declared !== undefined) return new ApiError(declared);
  const message = MESSAGES[error.kind];
  return message === undefined
    ? new ApiError(ErrorCatalogue.INTERNAL)
    : new ApiError(ErrorCatalogue.CONFLICT, message);
}

/** Finds the failure of the store that no log has yet. */
export function findUnreported(error: unknown): StoreUnavailableError | undefined {
  const failure = error instanceof IncompleteListError ? error.cause : error;
  if (failure instanceof StoreOverloadedError) return undefined;
  return failure instanceof StoreUnavailableError ? failure : undefined;
}
