import type { EntityMetadata } from 'typeorm';
import type { SqliteConnection } from './sqlite-connection.js';

/**
 * Finds the properties of the foreign key that a statement has violated, which SQLite does not
 * report. It executes the statement again with deferred foreign keys, checks the written rows, and
 * rolls back.
 */
export async function findViolatedForeignKey(
  connection: SqliteConnection,
  { foreignKeys, tableName }: EntityMetadata,
  sql: string,
  values: readonly unknown[],
): Promise<string[]> {
  const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
  const conditions = foreignKeys.map(({ columns, referencedColumns, referencedEntityMetadata }) => {
    const isGiven = columns.map((column) => `child.${quote(column.databaseName)} IS NOT NULL`);
    const refers = referencedColumns.map((column, index) => {
      const name = columns[index]?.databaseName ?? '';
      return `parent.${quote(column.databaseName)} = child.${quote(name)}`;
    });
    const parent = quote(referencedEntityMetadata.tableName);
    return `${isGiven.join(' AND ')} AND NOT EXISTS (SELECT 1 FROM ${parent} AS parent WHERE ${refers.join(' AND ')})`;
  });
  if (conditions.length === 0) return [];
  await connection.exec('SAVEPOINT retry; PRAGMA defer_foreign_keys = ON');
  try {
    const text = /\bRETURNING\b/i.test(sql) ? sql.replace(/\bRETURNING\b[^]*$/i, '') : sql;
    const written = await connection.all<{ row: string }>(
      `${text} RETURNING CAST(rowid AS TEXT) AS row`,
      values,
    );
    const rows = JSON.stringify(written.map(({ row }) => row));
    const [found] = await connection.all<Record<string, number>>(
      `SELECT ${conditions.map((condition, index) => `max(${condition}) AS key${index}`).join(', ')}
       FROM ${quote(tableName)} AS child WHERE rowid IN (SELECT value FROM json_each(?))`,
      [rows],
    );
    const index = foreignKeys.findIndex((_, place) => found?.[`key${place}`] === 1);
    return foreignKeys[index]?.columns.map(({ propertyPath }) => propertyPath) ?? [];
  } catch {
    // The violation was reported already. It just names no property.
    return [];
  } finally {
    await connection.exec('ROLLBACK TO retry; RELEASE retry; PRAGMA defer_foreign_keys = OFF');
  }
}
