import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { EntityColumns, JsonKind, JsonMember } from './entity-columns.js';

/** Writes the SQL that makes JSON of a value. */
export type WriteValue = (sql: string, kind: JsonKind, column: ColumnMetadata) => string;

/**
 * Writes the SQL that makes a JSON object of a row, without members for what is NULL.
 *
 * @param row what stands in front of the name of a column, such as `NEW.`
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
