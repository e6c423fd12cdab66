import { hash } from 'node:crypto';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { INDEXED_LENGTH } from '../engine/engine.js';
import { InvalidCursorError } from '../errors/store.errors.js';
import { isValueText } from '../entities/entity-columns.js';

/** The most rows of a page, or of a piece of an export. */
export const MAX_ROWS = 4_096;

/** The most pages of one statement. Passing a statement on takes as long as reading a page. */
export const MAX_PAGES = 8;

/**
 * A column by which rows are sorted: by its value, or by the start of its text with A to Z as small
 * letters. An index holds this start.
 */
export interface SortKey {
  readonly column: ColumnMetadata;
  readonly ignoresCase: boolean;
}

function isSameKey(key: SortKey, other: SortKey): boolean {
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

/**
 * Describes the shape of a page. The same statement reads all pages of one shape. A cursor has a
 * digest of this text: another wording makes the cursors invalid that clients have during an upgrade.
 */
export function describeShape(page: Omit<Page, 'limit'>): string {
  const { conditions, order, isDescending, after } = page;
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

/** The order and the filters that a cursor belongs to. */
type CursorScope = Pick<Page, 'order' | 'isDescending' | 'conditions'>;

/** The types of keys that serve as cursors without encoding. */
const PLAIN_TYPES = new Set<unknown>(['integer', 'bigint']);

/**
 * Writes the cursor with which a client continues after a page. It is an integer if rows are sorted
 * by an integer key alone, and otherwise an opaque text.
 *
 * @param end the sort values of the last row
 */
export function writeCursor(scope: CursorScope, end: readonly string[]): string {
  if (isPlain(scope)) return end[0] ?? '';
  return Buffer.from(JSON.stringify([sign(scope), ...end])).toString('base64url');
}

/**
 * Reads the sort values of the last row of the page before.
 *
 * @throws InvalidCursorError the text is no cursor of this order and these filters
 */
export function readCursor(scope: CursorScope, cursor: string): readonly string[] {
  const end = isPlain(scope) ? [cursor] : readParts(scope, cursor);
  const isValid =
    end?.length === scope.order.length &&
    scope.order.every(({ column }, index) => isValueText(end[index] ?? '', column)) &&
    isInList(scope, end);
  if (isValid) return end;
  const [{ column } = { column: undefined }] = scope.order;
  const what = isPlain(scope)
    ? `an integer: the last ${column?.propertyName ?? 'key'} of the previous page`
    : 'taken from a Link, with the same order and filters';
  throw new InvalidCursorError(`must be ${what}`);
}

/** Every order ends with the primary key. */
function isPlain({ order: [first, ...others] }: CursorScope): boolean {
  return others.length === 0 && PLAIN_TYPES.has(first?.column.type);
}

/** Accepts only the one spelling of a cursor. */
function readParts(scope: CursorScope, cursor: string): string[] | undefined {
  try {
    const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown;
    if (!Array.isArray(parts) || !parts.every((part) => typeof part === 'string')) return undefined;
    const [, ...end] = parts;
    return writeCursor(scope, end) === cursor ? end : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Whether texts with these sort values may be in the list. A forged cursor outside of it could make
 * an engine read all rows between.
 */
function isInList({ order: [first], conditions }: CursorScope, [text = '']: string[]): boolean {
  return conditions.every(({ key, operator, value }) => {
    const isOnText = first !== undefined && isSameKey(key, first) && key.column.type === 'text';
    if (!isOnText || typeof value !== 'string') return true;
    const compared = Buffer.compare(Buffer.from(text), Buffer.from(value));
    const isOnRightSide = operator.startsWith('<') ? compared < 0 : compared > 0;
    return isOnRightSide || (compared === 0 && operator.endsWith('='));
  });
}

/** Makes a short digest of the order and the filters. */
function sign({ order, isDescending, conditions }: CursorScope): string {
  const shape = describeShape({ conditions, order, isDescending, after: undefined });
  const values = conditions.map(({ value }) => value);
  return hash('sha256', JSON.stringify([shape, values]), 'base64url').slice(0, 11);
}
