import type { Values } from '../entities/column-values.js';
import type { RawRow } from '../entities/entity-columns.js';
import type { Result } from './batch-queue.js';

/**
 * The decision to remove a row, for `change()` of a repository.
 *
 * @example
 * ```ts
 * await plants.change(1n, (stored) => (stored?.tag === 'sold' ? REMOVE : undefined));
 * ```
 */
export const REMOVE = Symbol('remove');

/** The effect of a change on the stored row. */
export interface Decision<Outcome> {
  readonly outcome: Outcome;
  /** The row to store, or {@link REMOVE}; undefined leaves the row as it is. */
  readonly write?: Values | typeof REMOVE | undefined;
}

/** The kinds of writes. An addition is an insert of a row whose key the store counts up. */
export const KINDS = ['insert', 'add', 'update', 'remove'] as const;
export type WriteKind = (typeof KINDS)[number];

/** A write that does not depend on the stored row. */
export interface DirectWrite<Outcome> {
  readonly kind: WriteKind;
  /** Receives the key of the row that was written; of an addition the row. */
  readonly getOutcome: (row: RawRow) => Outcome;
}

/** A change of one row. */
export interface RowChange<Outcome = unknown> {
  /** Its name in the metrics. */
  readonly operation: 'create' | 'add' | 'replace' | 'remove' | 'change';
  /** Empty if the store counts up the key. */
  readonly key: string;
  /** The row to store, if that does not depend on the stored row. */
  readonly values?: Values;
  /** The write to try first. The change decides if the write has no effect. */
  readonly direct?: DirectWrite<Outcome> | undefined;
  /**
   * Receives the stored row while nobody else can change it. What it throws fails this change alone. It
   * may be called more than once.
   *
   * @param hasSameBytes whether the stored bytes are those of the row to create
   */
  readonly decide: (stored: RawRow | undefined, hasSameBytes: boolean) => Decision<Outcome>;
}

/** The results of changes, as far as they are known. */
export type Results = Map<RowChange, Result<unknown>>;

/** Whether a change adds a row whose key the store counts up, so that no other change is of this row. */
export function isAddition({ direct }: RowChange): boolean {
  return direct?.kind === 'add';
}
