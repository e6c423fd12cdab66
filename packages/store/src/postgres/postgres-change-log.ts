import type { DataSource, QueryRunner } from 'typeorm';
import type { ChangeLog, Statement } from '../engine/engine.js';
import {
  hasBegun,
  listRecordedTables,
  PREFIX,
  type RecordedTable,
} from '../engine/recorded-tables.js';
import { postgresDialect } from './postgres-dialect.js';
import { CURRENT_SCHEMA, quoteSchema, withBriefLocks } from './postgres-schema-steps.js';

/** A table without the name of a schema, such as "plants", must be in the current one. */
const LIST_COLUMNS = `SELECT attname AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped
    AND (relnamespace = ${CURRENT_SCHEMA} OR $1 LIKE '%"."%')`;
/** The setting that is on in a transaction in which a trigger has changed recorded rows. */
const BY_TRIGGER = 'record_change.by_trigger';
/** The first digits of a UUID are random, whatever seed a session has set. */
const NONCE = `left(replace(gen_random_uuid()::text, '-', ''), 12)`;

/**
 * Records changes by triggers, which number them by a sequence. The changes of one row are in
 * order, since a transaction locks the row before it draws a number and until it ends. Different
 * transactions may commit in another order than they draw numbers. Before it draws a number, a
 * transaction locks the table `changes` until it ends. A visible change is therefore settled once
 * all transactions that then held such a lock have ended.
 */
export class PostgresChangeLog implements ChangeLog {
  constructor(private readonly dataSource: DataSource) {}

  /** Other schemas that sessions search may have tables and functions of the same names. */
  private get schema(): string {
    return quoteSchema(this.dataSource);
  }

  get table(): string {
    return `${this.schema}.changes`;
  }

  get settle(): Statement {
    return { name: 'settle changes', text: `SELECT ${this.schema}.settle_changes() AS settled` };
  }

  async switchOn(queryRunner: QueryRunner): Promise<boolean> {
    const { schema } = this;
    const tables = await listRecordedTables(queryRunner, postgresDialect, LIST_COLUMNS);
    const known = await listFunctions(queryRunner);
    const hadBegun = await hasBegun(queryRunner, this.table);
    const isRecording =
      hadBegun &&
      known.length === 2 * tables.length &&
      tables.every(({ prefix }) => known.filter((name) => name === prefix).length === 2);
    await withBriefLocks(queryRunner, async () => {
      if (!isRecording) await this.dropFunctions(queryRunner, known);
      // A column may have been added since the last start.
      await this.writeFunctions(queryRunner, tables);
      await queryRunner.query(settleChanges(schema));
      if (isRecording) return;
      for (const table of tables) await queryRunner.query(writeTriggers(table, schema));
      await queryRunner.query(beginFeed(schema));
    });
    return hadBegun && !isRecording;
  }

  /** Writes the functions that exist for the columns that the tables have now. */
  async updateFunctions(queryRunner: QueryRunner): Promise<void> {
    const known = await listFunctions(queryRunner);
    if (known.length === 0) return;
    const tables = await listRecordedTables(queryRunner, postgresDialect, LIST_COLUMNS);
    await this.writeFunctions(
      queryRunner,
      tables.filter(({ prefix }) => known.includes(prefix)),
    );
  }

  async switchOff(queryRunner: QueryRunner): Promise<boolean> {
    const known = await listFunctions(queryRunner);
    if (known.length === 0) return false;
    await withBriefLocks(queryRunner, async () => {
      await this.dropFunctions(queryRunner, known);
      await queryRunner.query(`TRUNCATE ${this.table}`);
    });
    return true;
  }

  private async writeFunctions(
    queryRunner: QueryRunner,
    tables: readonly RecordedTable[],
  ): Promise<void> {
    for (const table of tables) await queryRunner.query(writeFunction(table, this.schema));
  }

  /** Drops functions with their triggers. */
  private async dropFunctions(queryRunner: QueryRunner, names: readonly string[]): Promise<void> {
    for (const name of new Set(names)) {
      await queryRunner.query(`DROP FUNCTION ${this.schema}."${name}"() CASCADE`);
    }
  }
}

/**
 * TRUNCATE waits for the transactions that have recorded changes, so that none of their changes
 * appears later.
 */
function beginFeed(schema: string): string {
  return `
CREATE SEQUENCE IF NOT EXISTS ${schema}.changes_number OWNED BY ${schema}.changes.number;
TRUNCATE ${schema}.changes;
INSERT INTO ${schema}.changes (number, nonce, at, type, id) VALUES (0, ${NONCE}, now(), '', '');
DROP TABLE IF EXISTS ${schema}.change_feed;
CREATE TABLE ${schema}.change_feed AS
  SELECT 0::bigint AS settled, 0::bigint AS mark, '{}'::text[] AS waits_for, '' AS life`;
}

/**
 * Returns the number up to which changes are settled, and stores it durably before any client sees
 * it. All changes up to `mark` are settled once the transactions of `waits_for` have ended.
 *
 * The server may have been restored as of a point at which some transactions had committed, but
 * others with lower numbers had not. Clients have seen all these changes later. So changes that
 * were not settled at that point get other nonces. `life` names the server and the table as they
 * are since then.
 */
function settleChanges(schema: string): string {
  return `
CREATE OR REPLACE FUNCTION ${schema}.settle_changes() RETURNS bigint LANGUAGE plpgsql
SET lock_timeout = 0 SET search_path = ${schema}, pg_temp AS $settle$
DECLARE
  feed record;
  newest bigint;
  writers text[];
  this_life text := extract(epoch FROM pg_postmaster_start_time()) || ' ' || 'changes'::regclass::oid;
BEGIN
  -- Of two calls at once, the one with an older list of writers could settle too much.
  PERFORM pg_advisory_xact_lock(1688401, 'changes'::regclass::oid::integer);
  SELECT * INTO feed FROM change_feed;
  IF feed.life <> this_life THEN
    UPDATE changes SET nonce = ${NONCE} WHERE number > feed.settled;
    UPDATE change_feed SET life = this_life;
  END IF;
  SELECT max(number) INTO newest FROM changes;
  IF newest > feed.settled THEN
    -- Read after the newest number: whoever has drawn a lower one has ended, or is in this list.
    writers := ARRAY(
      SELECT CASE WHEN pid IS NULL THEN 'prepared' ELSE virtualtransaction END FROM pg_locks
      WHERE relation = 'changes'::regclass AND mode = 'RowExclusiveLock' AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND pid IS DISTINCT FROM pg_backend_pid());
    -- PREPARE TRANSACTION gives a transaction another name.
    IF NOT (feed.waits_for || 'prepared'::text) && writers THEN
      UPDATE change_feed
      SET settled = CASE WHEN writers = '{}' THEN newest ELSE mark END,
          mark = newest,
          waits_for = writers
      RETURNING settled INTO feed.settled;
    END IF;
  END IF;
  RETURN feed.settled;
END
$settle$`;
}

/**
 * Writes the function that records changes. PostgreSQL calls it for the changes of a statement in
 * their order, unless a trigger changes recorded rows in between. From then on the transaction
 * reads each row as it is stored. Otherwise each record would take 1.5 times as long.
 */
function writeFunction(recorded: RecordedTable, schema: string): string {
  const { name, prefix, old, next, stored, hasOldKey, hasNextKey } = recorded;
  const sequence = `${schema.replaceAll("'", "''")}.changes_number`;
  // Writing sessions may have another search path.
  const hasSchema = recorded.table.includes('"."');
  const table = hasSchema ? recorded.table : `${schema}.${recorded.table}`;
  const record = (what: string, id: string, data: string): string =>
    `INSERT INTO ${schema}.changes (number, nonce, at, type, id, data)
     VALUES (nextval('${sequence}'), ${NONCE}, clock_timestamp(), '${name}.${what}', ${id}, ${data});`;
  return `
CREATE OR REPLACE FUNCTION ${schema}.${prefix}() RETURNS trigger LANGUAGE plpgsql AS $record$
DECLARE
  id text;
  data text;
  is_same_row boolean := false;
  is_removed boolean := TG_OP <> 'INSERT';
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    RAISE EXCEPTION 'TRUNCATE is not possible while the changes of % are recorded: use DELETE', TG_TABLE_NAME
      USING ERRCODE = 'feature_not_supported';
  END IF;
  IF TG_OP <> 'DELETE' THEN
    id := ${next.id};
    data := ${next.data};
  END IF;
  IF TG_OP = 'UPDATE' THEN
    is_same_row := id = (${old.id});
  END IF;
  IF pg_trigger_depth() > 1 THEN
    PERFORM set_config('${BY_TRIGGER}', 'on', true);
  END IF;
  IF current_setting('${BY_TRIGGER}', true) = 'on' THEN
    IF TG_OP <> 'DELETE' THEN
      SELECT ${stored.id}, ${stored.data} INTO id, data FROM ${table} AS stored WHERE ${hasNextKey};
    END IF;
    IF TG_OP <> 'INSERT' THEN
      is_removed := NOT EXISTS (SELECT 1 FROM ${table} AS stored WHERE ${hasOldKey});
    END IF;
  END IF;
  IF is_same_row THEN
    IF data <> (${old.data}) THEN
      ${record('replaced', 'id', 'data')}
    END IF;
    RETURN NULL;
  END IF;
  IF is_removed THEN
    ${record('removed', old.id, 'NULL')}
  END IF;
  IF id IS NOT NULL THEN
    ${record('created', 'id', 'data')}
  END IF;
  RETURN NULL;
END
$record$`;
}

function writeTriggers({ table, prefix }: RecordedTable, schema: string): string {
  return `
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ${table}
  FOR EACH ROW EXECUTE FUNCTION ${schema}.${prefix}();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ${table}
  FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.${prefix}()`;
}

/** Lists the functions that record changes, each once for every trigger that calls it. */
async function listFunctions(queryRunner: QueryRunner): Promise<string[]> {
  const rows = (await queryRunner.query(
    `SELECT proname AS name
     FROM pg_proc LEFT JOIN pg_trigger ON tgfoid = pg_proc.oid AND tgenabled <> 'D'
     WHERE pronamespace = ${CURRENT_SCHEMA} AND starts_with(proname, $1)`,
    [PREFIX],
  )) as { name: string }[];
  return rows.map(({ name }) => name);
}
