import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import type { ConstraintError } from '../constraint.error.js';
import { storeFailures } from '../data-source/store-failures.js';
import { atomically, type FailureCause, type Session } from './session.js';

/** The result of an item: its outcome, or its own error. */
export type Result<Outcome> = Outcome | Error;

/** Classifies the failures of an engine's statements on one table. */
export interface FailureClassifier {
  classify(error: unknown): FailureCause;

  /** Converts an error that reports a violated constraint; undefined for others. */
  toConstraintError(error: unknown): ConstraintError | undefined;
}

/**
 * How many parts a failed batch is divided into. With more, fewer items would be tried again, but in
 * more statements.
 */
const PARTS = 4;

/**
 * Executes a batch. If it fails, executes it again for all items but those at fault: it tries parts
 * of the batch, and parts of failing parts, in one transaction, so that the items not at fault cost
 * one commit.
 *
 * @param execute executes the operation for some items, and leaves nothing of it when it fails
 * @param describe adds details to the error of a single item
 * @throws the error, when the store itself has failed
 */
export async function executeIsolated<Item, Outcome>(
  session: Session,
  items: readonly Item[],
  classifier: FailureClassifier,
  execute: (session: Session, items: readonly Item[]) => Promise<Result<Outcome>[]>,
  describe: (failure: Error, session: Session, item: Item) => Promise<Error>,
): Promise<Result<Outcome>[]> {
  try {
    return await execute(session, items);
  } catch (error) {
    return await isolateFailures(session, items, error, classifier, execute, describe);
  }
}

/** @param error the failure of the items, which has been rolled back */
async function isolateFailures<Item, Outcome>(
  session: Session,
  items: readonly Item[],
  error: unknown,
  classifier: FailureClassifier,
  execute: (session: Session, items: readonly Item[]) => Promise<Result<Outcome>[]>,
  describe: (failure: Error, session: Session, item: Item) => Promise<Error>,
): Promise<Result<Outcome>[]> {
  if (classifier.classify(error) === 'store') throw error;
  const [only, ...others] = items;
  if (only !== undefined && others.length === 0) {
    return [await describe(toFailure(error, classifier), session, only)];
  }
  const divide = async (within: Session): Promise<Result<Outcome>[]> => {
    const size = Math.ceil(items.length / PARTS);
    const results: Result<Outcome>[] = [];
    for (let begin = 0; begin < items.length; begin += size) {
      const part = items.slice(begin, begin + size);
      try {
        results.push(...(await atomically(within, (inner) => execute(inner, part))));
      } catch (failure) {
        results.push(
          ...(await isolateFailures(within, part, failure, classifier, execute, describe)),
        );
      }
    }
    return results;
  };
  return await (session.isInTransaction ? divide(session) : atomically(session, divide));
}

/** Makes the error for an item. */
export function toFailure(error: unknown, classifier: FailureClassifier): Error {
  const constraint = classifier.toConstraintError(error);
  if (constraint !== undefined) return constraint;
  return classifier.classify(error) === 'row' ? (error as Error) : unavailable(error);
}

/** Reports a failure of the store to the log, and returns the error for the item. */
export function unavailable(error: unknown): ApiError {
  storeFailures.report(error as Error);
  return new ApiError(ErrorCatalogue.UNAVAILABLE);
}
