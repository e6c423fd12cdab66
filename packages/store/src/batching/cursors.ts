import { hash } from 'node:crypto';
import { isValueText } from '../entities/column-values.js';
import { InvalidCursorError } from '../errors/store.errors.js';
import { isSameKey, type Page, type SortKey } from './pages.js';

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
function sign(scope: CursorScope): string {
  const values = scope.conditions.map(({ value }) => value);
  const described = JSON.stringify([describeScope(scope), values]);
  return hash('sha256', described, 'base64url').slice(0, 11);
}

/** Another wording would make the cursors invalid that clients have during an upgrade. */
function describeScope({ conditions, order, isDescending }: CursorScope): string {
  const filters = conditions.map(({ key, operator, value }) =>
    value === null ? `${describeKey(key)} NULL` : `${describeKey(key)} ${operator}`,
  );
  const direction = isDescending ? 'down' : 'up';
  return [...filters, `by ${order.map(describeKey).join()}`, direction, 'first'].join('; ');
}

function describeKey({ column, ignoresCase }: SortKey): string {
  return ignoresCase ? `${column.databaseName}~` : column.databaseName;
}
