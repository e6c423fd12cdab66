import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/** How many code points of a text an index holds, since the size of an index entry is limited. */
export const INDEXED_LENGTH = 64;

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

/** Lists the parameters of a statement that reads a page, in the order of its text. */
export function listValues({ conditions, after }: Page): unknown[] {
  const values = conditions.map(({ value }) => value).filter((value) => value !== null);
  return [...values, ...(after ?? [])];
}

/** Describes the shape of a page. The same statement reads all pages of one shape. */
export function describeShape({ conditions, order, isDescending, after }: Page): string {
  const keyName = ({ column, ignoresCase }: SortKey): string =>
    column.databaseName + (ignoresCase ? '~' : '');
  return [
    ...conditions.map(({ key, operator, value }) =>
      value === null ? `${keyName(key)} NULL` : `${keyName(key)} ${operator}`,
    ),
    `by ${order.map(keyName).join()}`,
    isDescending ? 'down' : 'up',
    after === undefined ? 'first' : 'after',
  ].join('; ');
}

/** Returns the start of a text as an index holds it. */
export function getIndexedStart(text: string): string {
  const codePoints = [...text.slice(0, 2 * INDEXED_LENGTH)].slice(0, INDEXED_LENGTH);
  return codePoints.join('').replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Finds the first text in the order of code points after all texts with a prefix. */
export function findPrefixEnd(prefix: string): string | undefined {
  const codePoints = [...prefix];
  for (let index = codePoints.length - 1; index >= 0; index--) {
    const code = codePoints[index]?.codePointAt(0) ?? 0;
    if (code < 0x10ffff) {
      // Surrogates are not characters.
      const next = code + 1 === 0xd800 ? 0xe000 : code + 1;
      return codePoints.slice(0, index).join('') + String.fromCodePoint(next);
    }
  }
  return undefined;
}
