import type { JsonKind } from '../batching/row-json.js';

/** Writes the SQL that makes JSON of a value. */
export function writeValue(sql: string, kind: JsonKind): string {
  switch (kind) {
    case 'number':
    case 'json':
      return sql;
    case 'string':
      return `json_quote(${sql})`;
    case 'boolean':
      return `CASE WHEN ${sql} THEN 'true' ELSE 'false' END`;
    default: {
      const { scale } = kind;
      if (scale === 0) return sql;
      const unit = `1${'0'.repeat(scale)}`;
      return `printf('%s%d.%0${scale}d', CASE WHEN ${sql} < 0 THEN '-' ELSE '' END, abs(${sql}) / ${unit}, abs(${sql}) % ${unit})`;
    }
  }
}
