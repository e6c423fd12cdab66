import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { INDEXED_LENGTH } from '../engine/engine.js';

/**
 * A column by which rows are sorted: by its value, or by the start of its text with A to Z as small
 * letters. An index holds this start.
 */
export interface SortKey {
  readonly column: ColumnMetadata;
  readonly ignoresCase: boolean;
}

export function isSameKey(key: SortKey, other: SortKey): boolean {
  return key.column === other.column && key.ignoresCase === other.ignoresCase;
}

/** A condition on the rows of a page. */
export interface Condition {
  readonly key: SortKey;
  readonly operator: '=' | '>' | '>=' | '<' | '<=';
  readonly value: unknown;
}

/** Whether the conditions allow only one value of a key. */
export function hasOneValue(conditions: readonly Condition[], key: SortKey): boolean {
  return conditions.some(
    (condition) => condition.operator === '=' && isSameKey(condition.key, key),
  );
}

/** Consecutive rows of a table in an order. */
export interface Page {
  readonly conditions: readonly Condition[];
  /** The sort keys, of which the last ones are the primary key. */
  readonly order: readonly SortKey[];
  readonly isDescending: boolean;
  /** The sort values of the row before the first one; undefined for the first page. */
  readonly after: readonly string[] | undefined;
  readonly limit: number;
}

/** Returns the start of a text as an index holds it. */
export function getIndexedStart(text: string): string {
  const codePoints = [...text.slice(0, 2 * INDEXED_LENGTH)].slice(0, INDEXED_LENGTH);
  return codePoints.join('').replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
