import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EntityColumns } from './entity-columns.js';

/** How many code points of a text an index holds, since the size of an index entry is limited. */
export const INDEXED_LENGTH = 64;

/**
 * A column by which rows are sorted: by its value, or by the start of its text regardless of the
 * case of A to Z.
 */
export interface SortKey {
  readonly column: ColumnMetadata;
  readonly ignoresCase: boolean;
}

export function isSameKey(key: SortKey, other: SortKey): boolean {
  return key.column === other.column && key.ignoresCase === other.ignoresCase;
}

/** A condition on the rows of a page. The value is encoded for the engine. */
export interface Condition {
  readonly key: SortKey;
  /** `hash`: the hash of the text is that of the value. `starts`: the text begins with the value. */
  readonly operator: '=' | '>' | '>=' | '<' | '<=' | 'hash' | 'starts';
  readonly value: unknown;
}

/**
 * Whether the conditions allow only one value of a key. IS NULL does not count, since no index on
 * a sort expression serves it.
 */
export function hasOneValue(conditions: readonly Condition[], key: SortKey): boolean {
  return conditions.some(
    (condition) =>
      condition.operator === '=' && condition.value !== null && isSameKey(condition.key, key),
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
  const values = conditions.flatMap(({ operator, value }) => {
    if (value === null) return [];
    return operator === 'starts' ? [value, value] : [value];
  });
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

/** The lowest value of each type, as SQL. NULL is sorted as if it were this value. */
const LOWEST = new Map<unknown, string>([
  ['integer', '-2147483648'],
  ['bigint', '-9223372036854775808'],
  ['boolean', 'false'],
  ['date', `'0001-01-01'`],
  ['timestamp with time zone', `'0001-01-01T00:00:00.000Z'`],
  ['uuid', `'00000000-0000-0000-0000-000000000000'`],
  ...['text', 'varchar', 'character varying', String].map((type): [unknown, string] => [
    type,
    `''`,
  ]),
]);

/** @throws TypeError when NULL has no place in the order of a column */
export function assertSortable({ column, ignoresCase }: SortKey): void {
  if (!column.isNullable || ignoresCase || LOWEST.has(column.type)) return;
  throw new TypeError(
    `Rows cannot be sorted by ${column.propertyPath}: it may be null, and its type is not one of src/platform/database/columns.ts`,
  );
}

/** Writes the SQL that puts the lowest value in place of NULL, which engines sort differently. */
export function replaceNull(sql: string, type: unknown): string {
  return `coalesce(${sql}, ${LOWEST.get(type) ?? `''`})`;
}

/** Turns A to Z into small letters, and leaves every other character. */
export function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Makes the conditions for texts with a prefix, in a form that an index on the text supports. */
export function startsWith(
  key: SortKey,
  prefix: string,
  encode: EntityColumns['encode'],
): Condition[] {
  const text = key.ignoresCase ? foldCase(prefix) : prefix;
  const codePoints = [...text];
  if (key.ignoresCase && codePoints.length > INDEXED_LENGTH) {
    const indexed = codePoints.slice(0, INDEXED_LENGTH).join('');
    return [
      { key, operator: '=', value: indexed },
      { key, operator: 'starts', value: text },
    ];
  }
  const end = findPrefixEnd(codePoints);
  return [
    { key, operator: '>=', value: encode(text, key.column) },
    ...(end === undefined ? [] : [{ key, operator: '<' as const, value: end }]),
  ];
}

/** Finds the first text in the order of code points after all texts with a prefix. */
function findPrefixEnd(codePoints: readonly string[]): string | undefined {
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
