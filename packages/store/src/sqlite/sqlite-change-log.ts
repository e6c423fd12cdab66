import { Logger } from '@nestjs/common';
import type { QueryRunner } from 'typeorm';
import type { ChangeLog } from '../engine/engine.js';
import {
  hasBegun,
  listRecordedTables,
  PREFIX,
  type RecordedTable,
} from '../engine/recorded-tables.js';
import { isRecursion } from './replaced-rows.js';
import { sqliteDialect } from './sqlite-dialect.js';

const logger = new Logger('Store');

const NOW = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;
const NONCE = 'lower(hex(randomblob(6)))';
const LIST_COLUMNS = `SELECT name FROM pragma_table_info(trim(?1, '"'))`;

type Trigger = readonly [name: string, sql: string];

/**
 * Records changes by triggers. SQLite commits one transaction after another, so every visible
 * change is settled.
 */
export class SqliteChangeLog implements ChangeLog {
  readonly table = 'changes';
  readonly settle = { name: 'settle changes', text: 'SELECT max(number) AS settled FROM changes' };

  async switchOn(queryRunner: QueryRunner): Promise<boolean> {
    const triggers = await listWantedTriggers(queryRunner);
    const known = await this.listTriggers(queryRunner);
    const hadBegun = await hasBegun(queryRunner, this.table);
    const isRecording =
      hadBegun &&
      known.length === triggers.length &&
      triggers.every(([name]) => known.includes(name));
    await queryRunner.startTransaction();
    await this.dropTriggers(queryRunner, known);
    // A column may have been added since the last start.
    for (const [, sql] of triggers) await queryRunner.query(sql);
    if (!isRecording) {
      await queryRunner.query('DELETE FROM changes');
      await queryRunner.query(
        `INSERT INTO changes (number, nonce, at, type, id) VALUES (0, ${NONCE}, ${NOW}, '', '')`,
      );
    }
    await queryRunner.commitTransaction();
    await tryTriggers(queryRunner);
    return hadBegun && !isRecording;
  }

  async switchOff(queryRunner: QueryRunner): Promise<boolean> {
    const known = await this.listTriggers(queryRunner);
    if (known.length === 0) return false;
    await queryRunner.startTransaction();
    await this.dropTriggers(queryRunner, known);
    await queryRunner.query('DELETE FROM changes');
    await queryRunner.commitTransaction();
    return true;
  }

  /** Lists the names of the triggers that record changes. */
  async listTriggers(queryRunner: QueryRunner): Promise<string[]> {
    const rows = (await queryRunner.query(
      `SELECT name FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, ?) = ?`,
      [PREFIX.length, PREFIX],
    )) as { name: string }[];
    return rows.map(({ name }) => name);
  }

  /** Creates the missing ones of these triggers, which SQLite has dropped with their tables. */
  async restoreTriggers(queryRunner: QueryRunner, names: readonly string[]): Promise<void> {
    const known = await this.listTriggers(queryRunner);
    for (const [name, sql] of await listWantedTriggers(queryRunner)) {
      if (names.includes(name) && !known.includes(name)) await queryRunner.query(sql);
    }
  }

  async dropTriggers(queryRunner: QueryRunner, names: readonly string[]): Promise<void> {
    for (const name of names) await queryRunner.query(`DROP TRIGGER "${name}"`);
  }
}

/**
 * Updates a row of each table with triggers of modules to its own values, and logs the triggers
 * that never end.
 */
async function tryTriggers({ connection }: QueryRunner): Promise<void> {
  const quote = (name: string): string => connection.driver.escape(name);
  const tables = await connection.query<{ name: string }[]>(
    `SELECT DISTINCT tbl_name AS name FROM sqlite_schema
     WHERE type = 'trigger' AND substr(name, 1, ?) <> ?`,
    [PREFIX.length, PREFIX],
  );
  for (const { name } of tables) {
    const table = quote(name);
    const columns = await connection.query<{ name: string }[]>(LIST_COLUMNS, [table]);
    const values = columns.map((column) => `${quote(column.name)} = ${quote(column.name)}`);
    const attempt = connection.createQueryRunner();
    try {
      await attempt.startTransaction();
      await attempt.query(
        `UPDATE ${table} SET ${values.join(', ')} WHERE rowid = (SELECT rowid FROM ${table} LIMIT 1)`,
      );
    } catch (error) {
      // A trigger may refuse the row as it is.
      if (isRecursion(error)) logger.error(`Changes of ${name} will fail: ${error.message}`);
    } finally {
      // This rolls the transaction back.
      await attempt.release();
    }
  }
}

async function listWantedTriggers(queryRunner: QueryRunner): Promise<Trigger[]> {
  const tables = await listRecordedTables(queryRunner, sqliteDialect, LIST_COLUMNS);
  return tables.flatMap(writeTriggers);
}

/**
 * Writes triggers that record a row as it is stored. They cost a search by the key, which is cheap,
 * while the order in which SQLite fires the triggers of a table is not defined.
 */
function writeTriggers(recorded: RecordedTable): Trigger[] {
  const { table, name: rowName, prefix, old, next, stored, hasOldKey, hasNextKey } = recorded;
  const record = (what: string, id: string, data: string): string =>
    `INSERT INTO changes (nonce, at, type, id, data)
     SELECT ${NONCE}, ${NOW}, '${rowName}.${what}', ${id}, ${data}`;
  const recordStored = (what: string): string =>
    `${record(what, stored.id, stored.data)} FROM ${table} AS stored WHERE ${hasNextKey}`;
  const isOldStored = `SELECT 1 FROM ${table} AS stored WHERE ${hasOldKey}`;
  const removed = `${record('removed', old.id, 'NULL')} WHERE NOT EXISTS (${isOldStored});`;
  const created = `${recordStored('created')};`;
  const replaced = `${recordStored('replaced')} AND ${stored.data} <> ${old.data};`;
  const write = (what: string, event: string, condition: string, actions: string): Trigger => {
    const name = `${prefix}_${what}`;
    const sql = `CREATE TRIGGER ${name} AFTER ${event} ON ${table} ${condition} BEGIN ${actions} END`;
    return [name, sql];
  };
  const isSameRow = `${old.id} = ${next.id}`;
  return [
    write('insert', 'INSERT', '', created),
    write('update', 'UPDATE', `WHEN ${isSameRow}`, replaced),
    write('key', 'UPDATE', `WHEN NOT (${isSameRow})`, removed + created),
    write('delete', 'DELETE', '', removed),
  ];
}
