import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { DecimalTransformer, jsonTransformer } from '../columns.js';
import type { EntityColumns } from './entity-columns.js';

/** The SQL of JSON that differs between engines. */
export interface JsonDialect {
  /** The text of a column's value, in its canonical spelling. */
  asText(sql: string, type: unknown): string;

  /** The JSON string of a text. */
  quoteJson(text: string): string;
}

/** Writes the SQL that makes JSON of a column's value. */
export function writeValue(dialect: JsonDialect, sql: string, column: ColumnMetadata): string {
  const { type, transformer } = column;
  if (transformer === jsonTransformer) return sql;
  if (type === 'boolean') return `CASE WHEN ${sql} THEN 'true' ELSE 'false' END`;
  if (transformer instanceof DecimalTransformer && transformer.scale > 0) {
    const unit = `1${'0'.repeat(transformer.scale)}`;
    const whole = dialect.asText(`abs(${sql}) / ${unit}`, type);
    const fraction = dialect.asText(`abs(${sql}) % ${unit} + ${unit}`, type);
    return `CASE WHEN ${sql} < 0 THEN '-' ELSE '' END || ${whole} || '.' || substr(${fraction}, 2)`;
  }
  const text = dialect.asText(sql, type);
  return type === 'integer' || type === 'bigint' ? text : dialect.quoteJson(text);
}

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
  dialect: JsonDialect,
  row = '',
): string {
  const written = members.map((column, index) => {
    const sql = row + columns.quoteColumn(column);
    const name = JSON.stringify(column.propertyName).replaceAll("'", "''");
    const member = `'${index === 0 ? '' : ','}${name}:' || ${writeValue(dialect, sql, column)}`;
    return column.isNullable ? `CASE WHEN ${sql} IS NULL THEN '' ELSE ${member} END` : member;
  });
  return `'{' || ${written.join(' || ')} || '}'`;
}
