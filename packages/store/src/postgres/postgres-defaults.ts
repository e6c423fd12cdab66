import { isDeepStrictEqual } from 'node:util';
import type { TableColumn } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/** A text, which stays, or a cast. */
const TEXT_OR_CAST = /('(?:[^']|'')*')|::[\w\s.[\]\-"]+/g;

/** Reads a default value as TypeORM does, which also looks for casts inside texts. */
export function readDefault(sql: string): string {
  if (sql.includes(`'now'::text`)) return sql;
  const plain = sql.replace(TEXT_OR_CAST, '$1');
  return isNumber(plain) ? `'${plain}'` : plain;
}

/** The functions of which TypeORM takes a column for a generated one. */
const UUID_FUNCTION = /^(?:gen_random_uuid|uuid_generate_v\d)\(\)$/;

/**
 * Makes a loaded column that TypeORM finds equal to the column of an entity if the default values
 * are equal in another spelling.
 */
export function spellDefault(loaded: TableColumn, column: ColumnMetadata): TableColumn {
  const wanted: unknown = column.default;
  const stored: unknown = loaded.default;
  const spelled = loaded.clone();
  if (typeof stored === 'string') {
    const text = stored.replace(/^'(.*)'$/s, '$1');
    const isSameNumber = isNumber(text) && typeof wanted === 'number' && Number(text) === wanted;
    if (isSameNumber) spelled.default = `'${wanted}'`;
    const isJson = /^jsonb?$/.test(loaded.type);
    if (isJson && isSameJson(text.replaceAll("''", "'"), wanted)) {
      // TypeORM parses a text, and finds two values different that have a null.
      spelled.default = typeof wanted === 'string' ? `'${JSON.stringify(wanted)}'` : wanted;
    }
  }
  const written: unknown = typeof wanted === 'function' ? (wanted as () => unknown)() : undefined;
  const isUuid = typeof written === 'string' && UUID_FUNCTION.test(written);
  if (isUuid && !column.isGenerated && loaded.generationStrategy === 'uuid') {
    Object.assign(spelled, { isGenerated: false, default: written });
  }
  return spelled;
}

/** @param wanted a value, or its JSON */
function isSameJson(stored: string, wanted: unknown): boolean {
  try {
    const value: unknown = typeof wanted === 'string' ? JSON.parse(wanted) : wanted;
    return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), JSON.parse(stored));
  } catch {
    return false;
  }
}

/** An element of an array that PostgreSQL writes without quotes. */
const PLAIN_ELEMENT = /^(?!null$)[^\s{},"\\]+$/i;

/** Writes an array as PostgreSQL does. TypeORM quotes no element, so that one with a comma is two. */
export function writeArray(elements: readonly unknown[]): string {
  const texts = elements.map(String).map((text) => {
    return PLAIN_ELEMENT.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `'{${texts.join(',')}}'`;
}

function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}
