import { StoreUnavailableError } from '../errors/store.errors.js';

/**
 * The outcome for a new row: it is stored, or its key is taken by an identical or a different row.
 */
export type CreateOutcome = 'created' | 'identical' | 'different';

/** The outcome for a row of a list. A row that breaks a rule of the table has an error. */
export type ListedOutcome = CreateOutcome | Error;

/**
 * The outcome for a list of new rows.
 *
 * @example
 * ```ts
 * const { created, failures }: ListOutcome = await plants.createAll([{ id: 1n, name: 'Monstera' }]);
 * for (const [index, failure] of failures) console.log(`Row ${index}: ${String(failure)}`);
 * ```
 */
export interface ListOutcome {
  /** The outcome for each row, in the order of the list. */
  readonly outcomes: readonly ListedOutcome[];
  readonly created: number;
  readonly identical: number;
  /** The failures by the index of the row in the list. */
  readonly failures: ReadonlyMap<number, 'different' | Error>;
}

export function countOutcomes(outcomes: readonly ListedOutcome[]): ListOutcome {
  const counts = { created: 0, identical: 0 };
  const failures = new Map<number, 'different' | Error>();
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome === 'created' || outcome === 'identical') counts[outcome]++;
    else failures.set(index, outcome);
  }
  return { outcomes, ...counts, failures };
}

/**
 * The store failed before all rows of a list were stored. If the rows have their keys, create the
 * whole list again: rows that are stored are identical then.
 *
 * @example
 * ```ts
 * try {
 *   await plants.createAll(rows);
 * } catch (error) {
 *   if (!(error instanceof IncompleteListError)) throw error;
 *   const unknown = rows.filter((_, index) => error.outcomes[index] === 'unknown');
 * }
 * ```
 */
export class IncompleteListError extends StoreUnavailableError {
  /**
   * @param outcomes the outcome for each row, in the order of the list. A row is `unknown` if the
   *   store failed while it was stored: it may or may not be stored. In a transaction no row is
   *   `unknown`, and a row that is `created` is stored once the transaction is committed.
   * @param cause the error of the store
   */
  constructor(
    readonly outcomes: readonly (ListedOutcome | 'not stored' | 'unknown')[],
    override readonly cause: unknown,
  ) {
    super(cause instanceof Error ? cause : new Error(String(cause)));
  }
}
