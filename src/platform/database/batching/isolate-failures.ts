import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import type { ConstraintError } from '../constraint.error.js';
import { storeFailures } from '../data-source/store-failures.js';
import { atomically, type FailureCause, type Session } from './session.js';

/** What became of an item: its outcome, or the error that it alone is answered with. */
export type Result<Outcome> = Outcome | Error;

/** What an engine says of the failure of a statement on one table. */
export interface FailureClassifier {
  classify(error: unknown): FailureCause;

  /** The constraint that a row violates, where it is one. */
  toConstraintError(error: unknown): ConstraintError | undefined;
}

/** Into how many parts a batch is divided to find the item at fault: with four the fewest are tried again. */
const PARTS = 4;

/**
 * Does what a batch has failed to do for all items but those at fault: it tries parts of the batch,
 * and parts of those, in one transaction, so that the others cost one commit in all.
 *
 * @param error why the batch failed; nothing of it remains
 * @param execute does the work for some items
 * @param describe says more of the error of a single item
 * @throws the error, when the store itself has failed
 */
export async function isolateFailures<Item, Outcome>(
  session: Session,
  items: readonly Item[],
  error: unknown,
  classifier: FailureClassifier,
  execute: (session: Session, items: readonly Item[]) => Promise<Result<Outcome>[]>,
  describe: (failure: Error, session: Session, item: Item) => Promise<Error> = (failure) =>
    Promise.resolve(failure),
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

/** The error that an item is answered with. */
export function toFailure(error: unknown, classifier: FailureClassifier): Error {
  const constraint = classifier.toConstraintError(error);
  if (constraint !== undefined) return constraint;
  return classifier.classify(error) === 'row' ? (error as Error) : unavailable(error);
}

/** The store has failed an item, for a reason that goes to the log. */
export function unavailable(error: unknown): ApiError {
  storeFailures.report(error as Error);
  return new ApiError(ErrorCatalogue.UNAVAILABLE);
}
