import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { DecimalTransformer, jsonTransformer } from '../columns.js';
import type { EntityColumns } from './entity-columns.js';

/** How a column's values are written in JSON. */
export type JsonKind = 'number' | 'boolean' | 'string' | 'json' | { readonly scale: number };

/** A member of a row as JSON. */
export interface JsonMember {
  /** The name as JSON text. */
  readonly name: string;
  readonly column: ColumnMetadata;
  readonly kind: JsonKind;
}

/** Lists the members of a row as JSON, those of the key first, and without bytes. */
export function listJsonMembers({ keys, plain }: EntityColumns): readonly JsonMember[] {
  return [...new Set([...keys, ...plain])]
    .filter(({ isSelect }) => isSelect)
    .map((column) => ({
      name: JSON.stringify(column.propertyName),
      column,
      kind: findJsonKind(column),
    }));
}

function findJsonKind({ type, transformer }: ColumnMetadata): JsonKind {
  if (transformer instanceof DecimalTransformer) return { scale: transformer.scale };
  if (transformer === jsonTransformer) return 'json';
  if (type === 'integer' || type === 'bigint') return 'number';
  return type === 'boolean' ? 'boolean' : 'string';
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
