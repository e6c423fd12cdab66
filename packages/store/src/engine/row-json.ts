import type { ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { type Json, type JsonObject, JsonNumber } from '../json/json.js';
import { JsonText } from '../json/json-text.js';
import { writeJson } from '../json/json-writer.js';
import { DecimalTransformer, jsonTransformer } from '../entities/columns.js';
import type { EntityColumns } from '../entities/entity-columns.js';
import type { SqlDialect } from './engine.js';

/** Writes the SQL that makes JSON of a column's value. */
export function writeValue(dialect: SqlDialect, sql: string, column: ColumnMetadata): string {
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

/** Lists the columns of a row as JSON, the key first, and without bytes. */
export function listJsonColumns({ keys, plain }: EntityColumns): readonly ColumnMetadata[] {
  return [...new Set([...keys, ...plain])].filter(({ isSelect }) => isSelect);
}

/**
 * Writes the SQL that makes a JSON object of columns, by the names of their properties and without
 * NULL.
 *
 * @param row the prefix of the names of columns, such as `NEW.`
 */
export function writeObject(
  columns: EntityColumns,
  members: readonly ColumnMetadata[],
  dialect: SqlDialect,
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

/** Reads the row of an object that the SQL of {@link writeObject} has made of its JSON columns. */
export function readObject(columns: EntityColumns, json: Json): ObjectLiteral {
  const row = columns.metadata.create() as ObjectLiteral;
  for (const column of listJsonColumns(columns)) {
    const { propertyName } = column;
    const value = (json as JsonObject).get(propertyName);
    row[propertyName] = value === undefined ? null : readValue(value, column);
  }
  return row;
}

function readValue(json: Json, { type, transformer }: ColumnMetadata): unknown {
  if (transformer === jsonTransformer) return new JsonText(writeJson(json));
  if (!(json instanceof JsonNumber)) return json;
  if (transformer instanceof DecimalTransformer) return transformer.parse(json.source);
  return type === 'integer' ? Number(json.source) : json.source;
}
