import { hash } from 'node:crypto';
import type { QueryRunner } from 'typeorm';
import { EntityColumns } from '../entities/entity-columns.js';
import { listJsonColumns, writeObject, writeValue } from './row-json.js';
import type { SqlDialect } from './engine.js';
import { getRecordedName } from '../entities/record-changes.decorator.js';

/** The prefix of the names of triggers and functions that record changes. */
export const PREFIX = 'record_change_';

/** A table whose changes are recorded. */
export interface RecordedTable {
  /** Its quoted name. */
  readonly table: string;
  /** The name of a row in the feed. */
  readonly name: string;
  /** The beginning of the names of what records its changes: no two tables have the same. */
  readonly prefix: string;
  /** The row before a change, and after it. */
  readonly old: RowAsJson;
  readonly next: RowAsJson;
  /**
   * The row of the table `stored` in a query. It may be another one than after the change: triggers
   * that ran since may have changed it again, or removed it.
   */
  readonly stored: RowAsJson;
  /** The conditions that `stored` has the key from before a change, or from after it. */
  readonly hasOldKey: string;
  readonly hasNextKey: string;
}

/** The SQL that makes JSON of a row, and of its key. */
interface RowAsJson {
  readonly id: string;
  readonly data: string;
}

/**
 * Lists the tables whose changes are recorded, with the columns that they have. Before a migration and
 * after it is undone, the entity has columns that the table does not have.
 *
 * @param listColumns the SQL that lists the names of the columns of a table, by its quoted name
 */
export async function listRecordedTables(
  queryRunner: QueryRunner,
  dialect: SqlDialect,
  listColumns: string,
): Promise<RecordedTable[]> {
  const tables: RecordedTable[] = [];
  for (const metadata of queryRunner.connection.entityMetadatas) {
    const name = getRecordedName(metadata.target);
    if (name === undefined) continue;
    const columns = new EntityColumns(metadata);
    const rows = (await queryRunner.query(listColumns, [columns.table])) as { name: string }[];
    if (rows.length === 0) continue;
    const known = new Set(rows.map((row) => row.name));
    const members = listJsonColumns(columns).filter(({ databaseName }) => known.has(databaseName));
    const [key, ...others] = columns.keys;
    const write = (row: 'OLD.' | 'NEW.' | 'stored.'): RowAsJson => ({
      id:
        key === undefined || others.length > 0
          ? writeObject(columns, columns.keys, dialect, row)
          : writeValue(dialect, row + columns.quoteColumn(key), key),
      data: writeObject(columns, members, dialect, row),
    });
    const [old, next, stored] = [write('OLD.'), write('NEW.'), write('stored.')];
    const hasKeyOf = (row: 'OLD.' | 'NEW.'): string =>
      columns.keys
        .map((column) => columns.quoteColumn(column))
        .map((column) => `stored.${column} = ${row}${column}`)
        .join(' AND ');
    tables.push({
      table: columns.table,
      name,
      prefix: PREFIX + hash('sha256', metadata.tableName).slice(0, 16),
      old,
      next,
      stored,
      // Two spellings of a key may be equal, but they are two rows of the feed.
      hasOldKey: `${hasKeyOf('OLD.')} AND ${stored.id} = ${old.id}`,
      hasNextKey: hasKeyOf('NEW.'),
    });
  }
  return tables;
}

/** Whether the feed has begun, since its table then has at least one row. */
export async function hasBegun(queryRunner: QueryRunner, table: string): Promise<boolean> {
  const rows = (await queryRunner.query(`SELECT 1 FROM ${table} LIMIT 1`)) as unknown[];
  return rows.length > 0;
}
