import { isDeepStrictEqual } from 'node:util';
import type { TableColumn } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/**
 * Matches a quoted text, which is kept (group 1), or a cast, which is removed, such as
 * `::timestamp with time zone` or `::"my-schema".word[]`.
 */
const TEXT_OR_CAST = /('(?:[^']|'')*')|::[\w\s.[\]\-"]+/g;

/**
 * Reads a default value as TypeORM does: without its casts, and with quotes around a number. Unlike
 * TypeORM, this leaves `::` inside a quoted text alone.
 */
export function readDefault(sql: string): string {
  // TypeORM writes the functions of the current time with this cast, and compares it too.
  if (sql.includes(`'now'::text`)) return sql;
  const value = sql.replace(TEXT_OR_CAST, '$1');
  return isNumber(value) ? `'${value}'` : value;
}

/**
 * TypeORM compares default values as texts, and PostgreSQL may return one in another spelling. If the
 * loaded column has the same default as the entity, this returns it with the entity's spelling, so
 * that TypeORM sees no change.
 */
export function spellDefault(loaded: TableColumn, column: ColumnMetadata): TableColumn {
  const spelled = loaded.clone();
  const { default: wanted } = column;
  if (hasSameNumber(loaded, wanted)) {
    spelled.default = `'${wanted}'`;
  } else if (hasSameJson(loaded, wanted)) {
    // TypeORM parses a loaded text, and compares the result with the default of the entity. A default
    // that is a text is therefore encoded once more. An object is returned as it is, since two equal
    // objects with a null differ for TypeORM.
    spelled.default = typeof wanted === 'string' ? `'${JSON.stringify(wanted)}'` : wanted;
  } else if (hasUuidFunction(loaded, column)) {
    // TypeORM loads such a default as a generated column.
    spelled.isGenerated = false;
    spelled.default = callDefault(wanted);
  }
  return spelled;
}

function hasSameNumber(loaded: TableColumn, wanted: unknown): wanted is number {
  const text = readQuoted(loaded.default);
  return typeof wanted === 'number' && isNumber(text) && Number(text) === wanted;
}

/** @param wanted a value, or its JSON */
function hasSameJson({ type, default: stored }: TableColumn, wanted: unknown): boolean {
  const isJson = type === 'json' || type === 'jsonb';
  if (!isJson || typeof stored !== 'string') return false;
  try {
    const value: unknown = typeof wanted === 'string' ? JSON.parse(wanted) : wanted;
    const storedValue: unknown = JSON.parse(readQuoted(stored));
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), storedValue);
  } catch {
    return false;
  }
}

const UUID_FUNCTION = /^(?:gen_random_uuid|uuid_generate_v\d)\(\)$/;

/** Whether a column that is not generated has a function as its default that makes a uuid. */
function hasUuidFunction(
  { generationStrategy }: TableColumn,
  { default: wanted, isGenerated }: ColumnMetadata,
): boolean {
  if (isGenerated || generationStrategy !== 'uuid') return false;
  return UUID_FUNCTION.test(callDefault(wanted) ?? '');
}

/** Returns the SQL of a default that the entity gives as a function. */
function callDefault(wanted: unknown): string | undefined {
  return typeof wanted === 'function' ? String((wanted as () => unknown)()) : undefined;
}

/** Reads the content of a quoted text. Other SQL stays as it is. */
function readQuoted(sql: unknown): string {
  const [, content] = /^'(.*)'$/s.exec(String(sql)) ?? [];
  return content?.replaceAll("''", "'") ?? String(sql);
}

/** Matches an element of an array that PostgreSQL writes without quotes. Unquoted, `null` is NULL. */
const PLAIN_ELEMENT = /^(?!null$)[^\s{},"\\]+$/i;

/** Writes an array as PostgreSQL does. TypeORM would split an element that contains a comma. */
export function writeArray(elements: readonly unknown[]): string {
  const texts = elements.map(String).map((text) => {
    return PLAIN_ELEMENT.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `'{${texts.join(',')}}'`;
}

function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}
