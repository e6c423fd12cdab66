import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EntityColumns } from './entity-columns.js';

/** How much of a text an index holds, in code points: the size of an index entry is limited. */
export const INDEXED_LENGTH = 64;

/** A column by which rows are sorted, or the start of its text regardless of the case of A to Z. */
export interface SortKey {
  readonly column: ColumnMetadata;
  readonly ignoresCase: boolean;
}

/** What a row of a page has to fulfil. A value is as the engine stores it. */
export interface Condition {
  readonly key: SortKey;
  /** `hash`: the hash of the text is that of the value. `starts`: the text begins with the value. */
  readonly operator: '=' | '>' | '>=' | '<' | '<=' | 'hash' | 'starts';
  readonly value: unknown;
}

/** Some rows of a table, one after another. */
export interface Page {
  readonly conditions: readonly Condition[];
  /** What rows are sorted by; the last of it is the primary key. */
  readonly order: readonly SortKey[];
  readonly isDescending: boolean;
  /** What the row before the first one is sorted by; undefined for the first page. */
  readonly after: readonly string[] | undefined;
  /** What the last row is sorted by, where that is known. */
  readonly until?: readonly string[];
  readonly limit: number;
}

/** The values of a statement that reads a page, in the order in which its text mentions them. */
export function listValues({ conditions, after, until }: Page): unknown[] {
  const values = conditions.flatMap(({ operator, value }) => {
    if (value === null) return [];
    return operator === 'starts' ? [value, value] : [value];
  });
  return [...values, ...(after ?? []), ...(until ?? [])];
}

/** Pages of the same shape are read by the same statement. */
export function describeShape({ conditions, order, isDescending, after, until }: Page): string {
  const keyName = ({ column, ignoresCase }: SortKey): string =>
    column.databaseName + (ignoresCase ? '~' : '');
  return [
    ...conditions.map(({ key, operator, value }) =>
      value === null ? `${keyName(key)} NULL` : `${keyName(key)} ${operator}`,
    ),
    `by ${order.map(keyName).join()}`,
    isDescending ? 'down' : 'up',
    after === undefined ? 'first' : 'after',
    until === undefined ? 'open' : 'until',
  ].join('; ');
}

/** The lowest value of each type, as SQL: rows without a value are sorted as if they had it. */
const LOWEST = new Map<unknown, string>([
  ['integer', '-2147483648'],
  ['bigint', '-9223372036854775808'],
  ['boolean', 'false'],
  ['date', `'0001-01-01'`],
  ['timestamp with time zone', `'0001-01-01T00:00:00.000Z'`],
  ['uuid', `'00000000-0000-0000-0000-000000000000'`],
]);

/** The lowest value of a column in place of NULL, which engines sort differently. */
export function orLowest(sql: string, type: unknown): string {
  return `coalesce(${sql}, ${LOWEST.get(type) ?? `''`})`;
}

/** A to Z as small letters, and every other character as it is. */
export function foldCase(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The conditions that a text begins with a prefix, which an index by the text can find. */
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
  const end = endOfPrefix(codePoints);
  return [
    { key, operator: '>=', value: encode(text, key.column) },
    ...(end === undefined ? [] : [{ key, operator: '<' as const, value: end }]),
  ];
}

/** The first text in the order of code points that comes after all texts with a prefix. */
function endOfPrefix(codePoints: readonly string[]): string | undefined {
  for (let index = codePoints.length - 1; index >= 0; index--) {
    const code = codePoints[index]?.codePointAt(0) ?? 0;
    if (code < 0x10ffff) {
      // Surrogates are no characters of a text.
      const next = code + 1 === 0xd800 ? 0xe000 : code + 1;
      return codePoints.slice(0, index).join('') + String.fromCodePoint(next);
    }
  }
  return undefined;
}
