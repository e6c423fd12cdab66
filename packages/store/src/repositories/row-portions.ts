import { countBytes } from '../entities/column-values.js';
import type { RowChange } from '../batching/row-changes.js';

/** How many changes one commit makes. */
export const MAX_WRITTEN = 512;

/**
 * How many rows, and how many bytes of them, a portion of a list has at most: enough for the next
 * commit to begin while one is answered.
 */
export const PORTION = { rows: 2 * MAX_WRITTEN, bytes: 8 * 1024 * 1024 };

/** Splits new rows into portions. A longer row is a portion of its own. */
export function* splitIntoPortions<Outcome>(
  changes: readonly RowChange<Outcome>[],
): Generator<readonly RowChange<Outcome>[]> {
  let portion: RowChange<Outcome>[] = [];
  let bytes = 0;
  for (const change of changes) {
    const size = countBytes(change.values ?? []);
    const hasSpace = portion.length < PORTION.rows && bytes + size <= PORTION.bytes;
    if (portion.length > 0 && !hasSpace) {
      yield portion;
      portion = [];
      bytes = 0;
    }
    portion.push(change);
    bytes += size;
  }
  if (portion.length > 0) yield portion;
}
