import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { DecimalTransformer, jsonTransformer, TextChecker } from '../columns.js';
import { type EntityColumns, INTEGERS, TEXTS } from './entity-columns.js';

/** How a column's values are written in JSON. */
export type JsonKind = 'number' | 'boolean' | 'string' | 'json' | { readonly scale: number };

/** A member of a row as JSON. */
export interface JsonMember {
  /** The name as JSON text. */
  readonly name: string;
  readonly column: ColumnMetadata;
  readonly kind: JsonKind;
}

/**
 * Lists the members of a row as JSON, those of the key first; undefined if the database cannot
 * write one of them. Columns with `select: false` are none of them.
 */
export function listJsonMembers(columns: EntityColumns): readonly JsonMember[] | undefined {
  const members: JsonMember[] = [];
  for (const column of new Set([...columns.keys, ...columns.readable])) {
    if (!column.isSelect) continue;
    const kind = column.embeddedMetadata ? undefined : findJsonKind(column);
    if (kind === undefined) return undefined;
    members.push({ name: JSON.stringify(column.propertyName), column, kind });
  }
  return members;
}

/** Finds how the database writes values of a column in JSON; undefined if it cannot. */
function findJsonKind({ type, transformer }: ColumnMetadata): JsonKind | undefined {
  if (transformer instanceof DecimalTransformer) return { scale: transformer.scale };
  if (transformer === jsonTransformer) return 'json';
  if (transformer instanceof TextChecker) return 'string';
  if (transformer !== undefined) return undefined;
  if (INTEGERS.has(type) || type === 'bigint') return 'number';
  if (type === 'boolean' || type === Boolean) return 'boolean';
  return TEXTS.has(type) || type === 'uuid' || type === 'date' ? 'string' : undefined;
}

/** Writes the SQL that makes JSON of a value. */
export type WriteValue = (sql: string, kind: JsonKind, column: ColumnMetadata) => string;

/**
 * Writes the SQL that makes a JSON object of a row, without members that are NULL.
 *
 * @param row the prefix of the names of columns, such as `NEW.`
 */
export function writeObject(
  columns: EntityColumns,
  members: readonly JsonMember[],
  writeValue: WriteValue,
  row = '',
): string {
  const written = members.map(({ name, column, kind }, index) => {
    const sql = row + columns.quoteColumn(column);
    const label = `${index === 0 ? '' : ','}${name.replaceAll("'", "''")}:`;
    const member = `'${label}' || ${writeValue(sql, kind, column)}`;
    return column.isNullable ? `CASE WHEN ${sql} IS NULL THEN '' ELSE ${member} END` : member;
  });
  return `'{' || ${written.join(' || ')} || '}'`;
}
