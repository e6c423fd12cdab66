import type { QueryRunner } from 'typeorm';
import {
  type ChangeLog,
  hasBegun,
  listRecordedTables,
  PREFIX,
  type RecordedTable,
} from '../change-feed/change-log.js';
import { postgresDialect } from './postgres-dialect.js';
import { CURRENT_SCHEMA, withBriefLocks } from './postgres-schema-steps.js';

const SEQUENCE = 'changes_number';
const LIST_COLUMNS = `SELECT attname AS name FROM pg_attribute
  WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`;
/** The setting that is on in a transaction in which a trigger has changed recorded rows. */
const BY_TRIGGER = 'record_change.by_trigger';
/** The names of the schema of the feed, and of a recorded table with its schema. */
interface Place {
  readonly schema: string;
  readonly table: string;
}
const FIND_PLACE = `
  SELECT quote_ident(current_schema()) AS schema, format('%I.%I', nspname, relname) AS table
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  WHERE pg_class.oid = to_regclass($1)`;
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
  readonly settle = { name: 'settle changes', text: 'SELECT settle_changes() AS settled' };

  async switchOn(queryRunner: QueryRunner): Promise<void> {
    const tables = await listRecordedTables(queryRunner, postgresDialect, LIST_COLUMNS);
    const known = await listFunctions(queryRunner);
    const isRecording =
      known.length === 2 * tables.length &&
      tables.every(({ prefix }) => known.filter((name) => name === prefix).length === 2) &&
      (await hasBegun(queryRunner));
    await withBriefLocks(queryRunner, async () => {
      if (!isRecording) await dropFunctions(queryRunner, known);
      // A column may have been added since the last start.
      await writeFunctions(queryRunner, tables);
      await queryRunner.query(SETTLE_CHANGES);
      if (isRecording) return;
      for (const table of tables) await queryRunner.query(writeTriggers(table));
      await queryRunner.query(BEGIN_FEED);
    });
  }

  /** Writes the functions that exist for the columns that the tables have now. */
  async updateFunctions(queryRunner: QueryRunner): Promise<void> {
    const known = await listFunctions(queryRunner);
    if (known.length === 0) return;
    const tables = await listRecordedTables(queryRunner, postgresDialect, LIST_COLUMNS);
    await writeFunctions(
      queryRunner,
      tables.filter(({ prefix }) => known.includes(prefix)),
    );
  }

  async switchOff(queryRunner: QueryRunner): Promise<void> {
    const known = await listFunctions(queryRunner);
    if (known.length === 0) return;
    await withBriefLocks(queryRunner, async () => {
      await dropFunctions(queryRunner, known);
      await queryRunner.query('TRUNCATE changes');
    });
  }
}

/**
 * TRUNCATE waits for the transactions that have recorded changes, so that none of their changes
 * appears later.
 */
const BEGIN_FEED = `
CREATE SEQUENCE IF NOT EXISTS ${SEQUENCE} OWNED BY changes.number;
TRUNCATE changes;
INSERT INTO changes (number, nonce, at, type, id) VALUES (0, ${NONCE}, now(), '', '');
DROP TABLE IF EXISTS change_feed;
CREATE TABLE change_feed AS
  SELECT 0::bigint AS settled, 0::bigint AS mark, '{}'::text[] AS waits_for, '' AS life`;

/**
 * Returns the number up to which changes are settled, and stores it durably before anybody sees it.
 * All changes up to `mark` are settled once the transactions of `waits_for` have ended.
 *
 * The server may have been restored as of a moment when some transactions had committed, but others
 * with lower numbers had not. Clients have seen all of them later. So changes that were not settled
 * at that moment get other nonces. `life` names the server and the table as they are since then.
 */
const SETTLE_CHANGES = `
CREATE OR REPLACE FUNCTION settle_changes() RETURNS bigint LANGUAGE plpgsql SET lock_timeout = 0
AS $settle$
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

async function writeFunctions(
  queryRunner: QueryRunner,
  tables: readonly RecordedTable[],
): Promise<void> {
  for (const recorded of tables) {
    // Writing sessions may have another search path.
    const [place] = (await queryRunner.query(FIND_PLACE, [recorded.table])) as [Place];
    await queryRunner.query(writeFunction(recorded, place));
  }
}

/**
 * Writes the function that records changes. PostgreSQL calls it for the changes of a statement in
 * their order, unless a trigger changes recorded rows in between. From then on the transaction reads
 * each row as it is stored. Otherwise this would take half as long again as the record.
 */
function writeFunction(recorded: RecordedTable, { schema, table }: Place): string {
  const { name, prefix, old, next, stored, hasOldKey, hasNextKey } = recorded;
  const record = (what: string, id: string, data: string): string =>
    `INSERT INTO ${schema}.changes (number, nonce, at, type, id, data)
     VALUES (nextval('${schema}.${SEQUENCE}'), ${NONCE}, clock_timestamp(), '${name}.${what}', ${id}, ${data});`;
  return `
CREATE OR REPLACE FUNCTION ${prefix}() RETURNS trigger LANGUAGE plpgsql AS $record$
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

function writeTriggers({ table, prefix }: RecordedTable): string {
  return `
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ${table}
  FOR EACH ROW EXECUTE FUNCTION ${prefix}();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ${table}
  FOR EACH STATEMENT EXECUTE FUNCTION ${prefix}()`;
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

/** Drops functions with their triggers. */
async function dropFunctions(queryRunner: QueryRunner, names: readonly string[]): Promise<void> {
  for (const name of new Set(names)) await queryRunner.query(`DROP FUNCTION "${name}"() CASCADE`);
}
