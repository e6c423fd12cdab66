import type { QueryRunner } from 'typeorm';
import type { Session } from '../batching/session.js';
import {
  type ChangeLog,
  isFeedOn,
  createEpoch,
  type Progress,
  readFeedState,
  type RecordedTable,
} from '../change-feed/change-log.js';
import { writeValue } from './sqlite-json.js';

/** The prefix of the names of triggers. */
const PREFIX = 'record_change_';

const NOW = `strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;

interface Trigger {
  readonly name: string;
  readonly sql: string;
}

/**
 * Records changes by triggers. SQLite commits one transaction after another, so every visible
 * change is settled.
 */
export class SqliteChangeLog implements ChangeLog {
  async switchOn(queryRunner: QueryRunner, tables: readonly RecordedTable[]): Promise<void> {
    const wanted = tables.flatMap(writeTriggers);
    const known = await listTriggers(queryRunner);
    const isUnchanged =
      known.length === wanted.length &&
      wanted.every(({ name, sql }) =>
        known.some((trigger) => trigger.name === name && trigger.sql === sql),
      );
    if (isUnchanged && (await isFeedOn(queryRunner))) return;
    await queryRunner.startTransaction();
    await dropTriggers(queryRunner, known);
    for (const { sql } of wanted) await queryRunner.query(sql);
    await this.beginEpoch(queryRunner);
    await queryRunner.commitTransaction();
  }

  async switchOff(queryRunner: QueryRunner): Promise<void> {
    if (!(await isFeedOn(queryRunner))) return;
    await queryRunner.startTransaction();
    await dropTriggers(queryRunner, await listTriggers(queryRunner));
    await queryRunner.query('UPDATE change_feed SET epoch = NULL');
    await queryRunner.commitTransaction();
  }

  async beginEpoch(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('DELETE FROM changes');
    await queryRunner.query('UPDATE change_feed SET epoch = ?, removed = 0', [createEpoch()]);
  }

  async readProgress(session: Session): Promise<Progress> {
    const state = await readFeedState(session);
    return { ...state, settled: state.newest };
  }

  notify(): void {
    // No other program serves from the store.
  }

  listen(): void {
    // See notify().
  }

  async close(): Promise<void> {
    // There is nothing to close.
  }
}

function writeTriggers(table: RecordedTable): Trigger[] {
  const old = table.writeJson('OLD.', writeValue);
  const next = table.writeJson('NEW.', writeValue);
  const record = (what: string, id: string, data: string): string =>
    `INSERT INTO changes (at, type, id, data) VALUES (${NOW}, '${table.name}.${what}', ${id}, ${data});`;
  const removed = record('removed', old.id, 'NULL');
  const created = record('created', next.id, next.data);
  const write = (what: string, event: string, condition: string, actions: string): Trigger => {
    const name = `${PREFIX}${table.tableName}_${what}`;
    const sql = `CREATE TRIGGER "${name}" AFTER ${event} ON ${table.columns.table} ${condition} BEGIN ${actions} END`;
    return { name, sql };
  };
  const isSameRow = `${old.id} = ${next.id}`;
  const isReplaced = `WHEN ${isSameRow} AND ${old.data} <> ${next.data}`;
  return [
    write('insert', 'INSERT', '', created),
    write('update', 'UPDATE', isReplaced, record('replaced', next.id, next.data)),
    write('key', 'UPDATE', `WHEN NOT (${isSameRow})`, removed + created),
    write('delete', 'DELETE', '', removed),
  ];
}

async function listTriggers(queryRunner: QueryRunner): Promise<Trigger[]> {
  return (await queryRunner.query(
    `SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, ?) = ?`,
    [PREFIX.length, PREFIX],
  )) as Trigger[];
}

async function dropTriggers(queryRunner: QueryRunner, triggers: readonly Trigger[]): Promise<void> {
  for (const { name } of triggers) await queryRunner.query(`DROP TRIGGER "${name}"`);
}
