import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { JsonKind } from '../batching/row-json.js';

/** Writes the SQL that makes JSON of a value. */
export function writeValue(sql: string, kind: JsonKind, { type }: ColumnMetadata): string {
  switch (kind) {
    case 'number':
    case 'boolean':
      return `${sql}::text`;
    case 'json':
      return sql;
    case 'string':
      return `to_json(${writeText(sql, type)})::text`;
    default: {
      const { scale } = kind;
      if (scale === 0) return `${sql}::text`;
      const unit = `1${'0'.repeat(scale)}`;
      return `CASE WHEN ${sql} < 0 THEN '-' ELSE '' END || abs(${sql}) / ${unit} || '.' || lpad((abs(${sql}) % ${unit})::text, ${scale}, '0')`;
    }
  }
}

/** Writes a value in its canonical spelling, whatever the settings of the session. */
function writeText(sql: string, type: unknown): string {
  if (type === 'date') return `to_char(${sql}, 'YYYY-MM-DD')`;
  if (type === 'timestamp with time zone') {
    return `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  }
  return `${sql}::text`;
}
