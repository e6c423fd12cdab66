import { createHash } from 'node:crypto';
import type { DataSource, QueryRunner } from 'typeorm';
import { EntityColumns } from '../batching/entity-columns.js';
import { listJsonColumns, writeObject, type WriteValue } from '../batching/row-json.js';
import type { Statement } from '../batching/session.js';
import { getRecordedName } from '../record-changes.decorator.js';

/** The prefix of the names of triggers and functions that record changes. */
export const PREFIX = 'record_change_';

/**
 * Records changes by an engine's means, in the same commit as the changes: triggers add rows to the
 * table `changes`, numbered upwards from 1. Row 0 stands for the beginning of the feed.
 */
export interface ChangeLog {
  /** Returns `settled`: no further change can appear up to this number. */
  readonly settle: Statement;

  /**
   * Records changes from now on. The feed begins anew, without any change, unless all changes of
   * these tables have been recorded until now.
   */
  switchOn(queryRunner: QueryRunner, tables: readonly RecordedTable[]): Promise<void>;

  /** Stops recording changes, and removes those that are recorded. */
  switchOff(queryRunner: QueryRunner): Promise<void>;
}

/** A table whose changes are recorded. */
export class RecordedTable {
  /** The beginning of the names of what records its changes: no two tables have the same. */
  readonly prefix: string;

  /** @param name the name of a row in the feed */
  constructor(
    readonly columns: EntityColumns,
    readonly name: string,
  ) {
    const hash = createHash('sha256').update(columns.metadata.tableName).digest('hex');
    this.prefix = PREFIX + hash.slice(0, 16);
  }

  /** Writes the SQL that makes JSON of a row, and of its key. */
  writeJson(row: 'OLD.' | 'NEW.', writeValue: WriteValue): { id: string; data: string } {
    const { columns } = this;
    const data = writeObject(columns, listJsonColumns(columns), writeValue, row);
    const [key, ...others] = columns.keys;
    const id =
      key === undefined || others.length > 0
        ? writeObject(columns, columns.keys, writeValue, row)
        : writeValue(row + columns.quoteColumn(key), key);
    return { id, data };
  }
}

/** Lists the tables whose changes are recorded. */
export function listRecordedTables(store: DataSource): RecordedTable[] {
  return store.entityMetadatas.flatMap(({ target }) => {
    const name = getRecordedName(target);
    if (name === undefined) return [];
    const columns = new EntityColumns(store.getRepository(target));
    return [new RecordedTable(columns, name)];
  });
}

/** Whether the feed has begun, since it then has at least one row. */
export async function hasBegun(queryRunner: QueryRunner): Promise<boolean> {
  const rows = (await queryRunner.query('SELECT 1 FROM changes LIMIT 1')) as unknown[];
  return rows.length > 0;
}
