import { hash } from 'node:crypto';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import { isInt64Text } from '../../json/json-number.js';
import { CALENDAR_DATE } from '../../validation/value-types.js';
import { type Condition, isSameKey, type SortKey } from './page-conditions.js';

/** The order and the filters that a cursor belongs to. */
export interface CursorScope {
  readonly order: readonly SortKey[];
  readonly isDescending: boolean;
  readonly conditions: readonly Condition[];
}

/** The types of keys that serve as cursors without encoding. */
const PLAIN_TYPES = new Set<unknown>(['integer', 'bigint']);

/** The types whose values are sorted by the code points of their texts. */
const SORTED_AS_TEXT = new Set<unknown>(['text', 'date', 'uuid']);

const FULFILS: Partial<Record<Condition['operator'], (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
};

/** The checks of values in a cursor, by the types of their columns. Other values may be any text. */
const CHECKS = new Map<unknown, (text: string) => boolean>([
  ['integer', (text) => isInt64Text(text) && Number(text) === (Number(text) | 0)],
  ['bigint', isInt64Text],
  ['boolean', (text) => /^(?:true|false|0|1)$/.test(text)],
  ['date', isDate],
  [
    'timestamp with time zone',
    (text) =>
      // Not every engine takes larger offsets.
      /^\d{4}-\d\d-\d\d[ T][\d:.]+(?:Z|[+-](?:0\d|1[0-5])(?::?\d\d)?)$/.test(text) &&
      isDate(text.slice(0, 10)) &&
      isTime(text),
  ],
  ['uuid', (text) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)],
]);

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
 * @throws ApiError 40003 the text is no cursor of this order and these filters
 */
export function readCursor(scope: CursorScope, cursor: string): readonly string[] {
  const end = isPlain(scope) ? [cursor] : readParts(scope, cursor);
  const isValid =
    end?.length === scope.order.length &&
    end.every((part, index) => isValidText(scope.order[index], part)) &&
    // In a list by an integer key, a client may start after any key.
    (isPlain(scope) || isInList(scope, end));
  if (isValid) return end;
  const [{ column } = { column: undefined }] = scope.order;
  const what = isPlain(scope)
    ? `an integer: the last ${column?.propertyName ?? 'key'} of the previous page`
    : 'taken from a Link, with the same order and filters';
  throw new ApiError(
    ErrorCatalogue.INVALID_PARAMETERS,
    `The query is not valid: after must be ${what}`,
  );
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
 * Whether a row with these sort values may be in the list. A forged cursor could otherwise make an
 * engine read all rows before the list.
 */
function isInList({ order, conditions }: CursorScope, end: readonly string[]): boolean {
  return conditions.every(({ key, operator, value }) => {
    const text = end[order.findIndex((other) => isSameKey(other, key))];
    const fulfils = FULFILS[operator];
    const given = typeof value === 'number' ? String(value) : value;
    if (text === undefined || fulfils === undefined || typeof given !== 'string') return true;
    const compared = compareValues(key, text, given);
    return compared === undefined || fulfils(compared);
  });
}

/** Compares two values of a sort key; undefined for types whose values have several spellings. */
function compareValues(key: SortKey, text: string, other: string): number | undefined {
  const { type } = key.column;
  if (!isValidText(key, other)) return undefined;
  if (key.ignoresCase || SORTED_AS_TEXT.has(type)) {
    return Buffer.compare(Buffer.from(text), Buffer.from(other));
  }
  if (!PLAIN_TYPES.has(type)) return undefined;
  return BigInt(text) < BigInt(other) ? -1 : Number(text !== other);
}

/** Makes a short digest of the order and the filters. */
function sign({ order, isDescending, conditions }: CursorScope): string {
  const describeKey = ({ column, ignoresCase }: SortKey): unknown[] => [
    column.databaseName,
    ignoresCase,
  ];
  const sorted = order.map(describeKey);
  const filters = conditions.map(({ key, operator, value }) => [describeKey(key), operator, value]);
  return hash('sha256', JSON.stringify([sorted, isDescending, filters]), 'base64url').slice(0, 11);
}

function isValidText(key: SortKey | undefined, text: string): boolean {
  const isText = key?.ignoresCase === true ? undefined : CHECKS.get(key?.column.type);
  // Engines store neither U+0000 nor unpaired surrogates.
  return isText?.(text) ?? !/[\0\ud800-\udfff]/u.test(text);
}

/** `Date.parse()` takes February 30 for March 2. */
function isDate(text: string): boolean {
  return CALENDAR_DATE.isValid(text);
}

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}
