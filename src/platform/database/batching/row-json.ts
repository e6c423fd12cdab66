import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { DecimalTransformer, jsonTransformer } from '../columns.js';
import type { EntityColumns } from './entity-columns.js';

/** How a column's values are written in JSON. */
export type JsonKind = 'number' | 'boolean' | 'string' | 'json' | { readonly scale: number };

export function getJsonKind({ type, transformer }: ColumnMetadata): JsonKind {
  if (transformer instanceof DecimalTransformer) return { scale: transformer.scale };
  if (transformer === jsonTransformer) return 'json';
  if (type === 'integer' || type === 'bigint') return 'number';
  return type === 'boolean' ? 'boolean' : 'string';
}

/** Writes the SQL that makes JSON of a column's value. */
export type WriteValue = (sql: string, column: ColumnMetadata) => string;

/** Lists the columns of a row as JSON, those of the key first, and without bytes. */
export function listJsonColumns({ keys, plain }: EntityColumns): readonly ColumnMetadata[] {
  return [...new Set([...keys, ...plain])].filter(({ isSelect }) => isSelect);
}

/**
 * Writes the SQL that makes a JSON object of columns, by the names of their properties and without
 * those that are NULL.
 *
 * @param row the prefix of the names of columns, such as `NEW.`
 */
export function writeObject(
  columns: EntityColumns,
  members: readonly ColumnMetadata[],
  writeValue: WriteValue,
  row = '',
): string {
  const written = members.map((column, index) => {
    const sql = row + columns.quoteColumn(column);
    const name = JSON.stringify(column.propertyName).replaceAll("'", "''");
    const member = `'${index === 0 ? '' : ','}${name}:' || ${writeValue(sql, column)}`;
    return column.isNullable ? `CASE WHEN ${sql} IS NULL THEN '' ELSE ${member} END` : member;
  });
  return `'{' || ${written.join(' || ')} || '}'`;
}
