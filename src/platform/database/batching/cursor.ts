import { hash } from 'node:crypto';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import { isInt64Text } from '../../json/json-number.js';
import type { EntityColumns } from './entity-columns.js';
import type { Condition, SortKey } from './page.js';

/** The order and the filters of a page, which a cursor belongs to. */
export interface CursorScope {
  /** The name of the order; undefined for that of the key. */
  readonly orderName: string | undefined;
  readonly order: readonly SortKey[];
  readonly isDescending: boolean;
  readonly conditions: readonly Condition[];
}

/** The texts that values of a type have in a cursor; any text for other types. */
const TEXTS = new Map<unknown, (text: string) => boolean>([
  ['integer', (text) => isInt64Text(text) && Number(text) === (Number(text) | 0)],
  ['bigint', isInt64Text],
  ['boolean', (text) => /^(?:true|false|0|1)$/.test(text)],
  ['date', (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isTime(text)],
  [
    'timestamp with time zone',
    (text) => /^\d{4}-\d\d-\d\d[ T][\d:.]+(?:Z|[+-][\d:]+)$/.test(text) && isTime(text),
  ],
  ['uuid', (text) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(text)],
]);

/**
 * The text by which a client goes on after a page: the key itself where rows are sorted by a key of one
 * column, and otherwise a text that only the store understands.
 *
 * @param end what the last row is sorted by
 */
export function writeCursor(scope: CursorScope, end: readonly string[]): string {
  if (isPlain(scope)) return end[0] ?? '';
  return Buffer.from(JSON.stringify([sign(scope), ...end])).toString('base64url');
}

/**
 * What the last row of the page before is sorted by.
 *
 * @throws ApiError 40003 the text is no cursor of this order and these filters
 */
export function readCursor(
  scope: CursorScope,
  cursor: unknown,
  columns: EntityColumns,
): readonly string[] {
  const text = String(cursor);
  const end = isPlain(scope) ? [text] : readParts(scope, text);
  const isValid =
    end?.length === scope.order.length &&
    end.every((part, index) => isTextOf(scope.order[index], part));
  if (!isValid) {
    const what = isPlain(scope)
      ? `the ${columns.keys[0]?.propertyName ?? 'key'} of a row`
      : 'what the Link of the page before has, with the same order and filters';
    throw new ApiError(
      ErrorCatalogue.INVALID_PARAMETERS,
      `The query is not valid: after must be ${what}`,
    );
  }
  return isPlain(scope) ? [columns.readKey(cursor)] : end;
}

function isPlain({ orderName, order }: CursorScope): boolean {
  return orderName === undefined && order.length === 1;
}

/** A cursor has one spelling. */
function readParts(scope: CursorScope, cursor: string): string[] | undefined {
  try {
    const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown;
    if (!Array.isArray(parts) || !parts.every((part) => typeof part === 'string')) return undefined;
    const [signature, ...end] = parts;
    return signature === sign(scope) && writeCursor(scope, end) === cursor ? end : undefined;
  } catch {
    return undefined;
  }
}

/** Stands for the order and the filters. */
function sign({ orderName = '', isDescending, conditions }: CursorScope): string {
  const filters = conditions.map(({ key, operator, value }) => [
    key.column.databaseName,
    key.ignoresCase,
    operator,
    value,
  ]);
  return hash('sha256', JSON.stringify([orderName, isDescending, filters]), 'base64url').slice(
    0,
    11,
  );
}

function isTextOf(key: SortKey | undefined, text: string): boolean {
  const isText = key?.ignoresCase === true ? undefined : TEXTS.get(key?.column.type);
  // Engines store neither U+0000 nor unpaired surrogates.
  return isText?.(text) ?? !/[\0\ud800-\udfff]/u.test(text);
}

function isTime(text: string): boolean {
  return !Number.isNaN(Date.parse(text));
}
