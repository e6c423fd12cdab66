import type { Notification, Pool, PoolClient } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
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
import { storeFailures } from '../data-source/store-failures.js';
import { DatabaseStartError } from '../data-source/store-data-source.js';
import { withBriefLocks } from './brief-table-locks.js';
import { writeValue } from './postgres-json.js';

/** The prefix of the functions that record changes, one for each table. */
const PREFIX = 'record_change_';
/** Servers truncate longer names. */
const MAX_NAME = 63;
const SEQUENCE = 'changes_number';
const CHANNEL = 'plant_store_changes';

/** The advisory lock that all programs with the feed switched on share. */
const LOCK = `1688401, hashtext(current_schema())`;

/** The least time between two notifications of a program, in milliseconds. */
const NOTIFY_INTERVAL_MS = 25;
/** How long a program waits before it reconnects, in milliseconds. */
const RECONNECT_MS = 1_000;

/** Lists the open transactions that have recorded changes. */
const WRITERS = {
  name: 'writers of changes',
  text: `SELECT virtualtransaction AS id FROM pg_locks
    WHERE relation = 'changes'::regclass AND mode = 'RowExclusiveLock' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
};

/** The newest change at one moment, which is settled once these transactions have ended. */
interface Mark {
  readonly newest: number;
  readonly writers: ReadonlySet<string>;
}

/**
 * Records changes by triggers, which number them by a sequence. The changes of one row are in
 * order, since a transaction locks the row before it draws a number and until it ends. Different
 * transactions may commit in another order than they draw numbers. Before it draws a number, a
 * transaction locks the table `changes` until it ends. A visible change is therefore settled once
 * all transactions that then held such a lock have ended.
 */
export class PostgresChangeLog implements ChangeLog {
  private settled = { epoch: undefined as string | undefined, number: 0 };
  private mark: Mark | undefined;
  private pool: Pool | undefined;
  private client: PoolClient | undefined;
  private onNotified: () => void = () => undefined;
  private notifyTimer: NodeJS.Timeout | undefined;
  private isNotificationDue = false;
  private isClosed = false;

  /**
   * @param openPool opens a pool for the connection that holds the lock and receives notifications
   * @param reopen switches the feed on again after that connection was lost
   */
  constructor(
    private readonly openPool: () => Pool,
    private readonly reopen: () => Promise<void>,
  ) {}

  async switchOn(queryRunner: QueryRunner, tables: readonly RecordedTable[]): Promise<void> {
    await this.connect();
    const schema = await readSchema(queryRunner);
    const wanted = tables.map((table) => ({ table, ...writeFunction(table, schema) }));
    const known = await listFunctions(queryRunner);
    const isUnchanged =
      known.length === wanted.length &&
      wanted.every(({ name, source }) =>
        known.some((one) => one.name === name && one.source === source && one.triggers === 2),
      );
    if (isUnchanged && (await isFeedOn(queryRunner))) return;
    await withBriefLocks(queryRunner, async () => {
      await queryRunner.query(`CREATE SEQUENCE IF NOT EXISTS ${SEQUENCE} OWNED BY changes.number`);
      await dropFunctions(queryRunner, known);
      for (const { table, name, source } of wanted) {
        const on = table.columns.table;
        await queryRunner.query(
          `CREATE FUNCTION "${name}"() RETURNS trigger LANGUAGE plpgsql AS $record$${source}$record$`,
        );
        await queryRunner.query(
          `CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON ${on}
           FOR EACH ROW EXECUTE FUNCTION "${name}"()`,
        );
        await queryRunner.query(
          `CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON ${on}
           FOR EACH STATEMENT EXECUTE FUNCTION "${name}"()`,
        );
      }
      await this.beginEpoch(queryRunner);
    });
  }

  async switchOff(queryRunner: QueryRunner): Promise<void> {
    if (!(await isFeedOn(queryRunner))) return;
    const [lock] = (await queryRunner.query(`SELECT pg_try_advisory_lock(${LOCK}) AS taken`)) as {
      taken: boolean;
    }[];
    if (lock?.taken !== true) {
      throw new DatabaseStartError(
        'Another program on this store has CHANGE_FEED=on: set it here too, or stop that program first',
      );
    }
    const known = await listFunctions(queryRunner);
    await withBriefLocks(queryRunner, async () => {
      await dropFunctions(queryRunner, known);
      await queryRunner.query('UPDATE change_feed SET epoch = NULL');
    });
    await queryRunner.query(`SELECT pg_advisory_unlock(${LOCK})`);
  }

  async beginEpoch(queryRunner: QueryRunner): Promise<void> {
    // TRUNCATE waits for the transactions that have recorded changes, so that none of their changes
    // appears later.
    await queryRunner.query('TRUNCATE changes');
    await queryRunner.query('UPDATE change_feed SET epoch = $1, removed = 0', [createEpoch()]);
  }

  async readProgress(session: Session): Promise<Progress> {
    const [state, rows] = await Promise.all([
      readFeedState(session),
      session.query<{ id: string }>(WRITERS, []),
    ]);
    const writers = new Set(rows.map(({ id }) => id));
    const { epoch, newest, removed } = state;
    if (epoch !== this.settled.epoch || newest < this.settled.number) {
      this.settled = { epoch, number: 0 };
      this.mark = undefined;
    }
    if (this.mark !== undefined && ![...this.mark.writers].some((id) => writers.has(id))) {
      this.settled = { epoch, number: this.mark.newest };
      this.mark = undefined;
    }
    if (writers.size === 0) this.settled = { epoch, number: newest };
    else if (newest > this.settled.number) this.mark ??= { newest, writers };
    return { ...state, settled: Math.max(this.settled.number, removed) };
  }

  notify(): void {
    this.isNotificationDue = true;
    this.notifyTimer ??= setTimeout(() => void this.sendNotification(), 0);
  }

  private async sendNotification(): Promise<void> {
    this.isNotificationDue = false;
    // Other programs also poll, so a lost notification only delays them.
    await this.client?.query(`NOTIFY ${CHANNEL}`).catch(() => undefined);
    this.notifyTimer = setTimeout(() => {
      this.notifyTimer = undefined;
      if (this.isNotificationDue) this.notify();
    }, NOTIFY_INTERVAL_MS);
  }

  listen(onNotified: () => void): void {
    this.onNotified = onNotified;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.notifyTimer);
    this.client?.release(true);
    await this.pool?.end();
  }

  /** Connects until the program stops, since the server releases the lock with the connection. */
  private async connect(): Promise<void> {
    if (this.client !== undefined) return;
    this.pool ??= this.openPool();
    const client = await this.pool.connect();
    client.on('error', () => undefined);
    client.on('notification', ({ processId }: Notification) => {
      const own = (client as PoolClient & { readonly processID: number }).processID;
      if (processId !== own) this.onNotified();
    });
    try {
      await client.query(`SELECT pg_advisory_lock_shared(${LOCK})`);
      await client.query(`LISTEN ${CHANNEL}`);
      if (this.isClosed) throw new Error('The program stops');
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.client = client;
    client.once('end', () => {
      if (!this.isClosed) void this.reconnect(client);
    });
  }

  private async reconnect(lost: PoolClient): Promise<void> {
    this.client = undefined;
    // The pool has a single connection, and opens no other before this one is released.
    lost.release(true);
    while (!this.isClosed) {
      try {
        await this.reopen();
        return;
      } catch (error) {
        storeFailures.report(error as Error);
        await sleep(RECONNECT_MS);
      }
    }
  }
}

/** The function that records the changes of a table. */
interface RecordFunction {
  readonly name: string;
  readonly source: string;
}

function writeFunction(table: RecordedTable, schema: string): RecordFunction {
  const old = table.writeJson('OLD.', writeValue);
  const next = table.writeJson('NEW.', writeValue);
  const record = (what: string, id: string, data: string): string =>
    `INSERT INTO ${schema}.changes (number, at, type, id, data)
     VALUES (nextval('${schema}.${SEQUENCE}'), clock_timestamp(), '${table.name}.${what}', ${id}, ${data});`;
  const source = `
DECLARE
  id text;
  data text;
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
    IF id = (${old.id}) THEN
      IF data <> (${old.data}) THEN
        ${record('replaced', 'id', 'data')}
      END IF;
      RETURN NULL;
    END IF;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    ${record('removed', old.id, 'NULL')}
  END IF;
  IF TG_OP <> 'DELETE' THEN
    ${record('created', 'id', 'data')}
  END IF;
  RETURN NULL;
END`;
  return { name: (PREFIX + table.tableName).slice(0, MAX_NAME), source };
}

/**
 * Reads the quoted name of the tables' schema, since writing sessions may have another search path.
 */
async function readSchema(queryRunner: QueryRunner): Promise<string> {
  const [row] = (await queryRunner.query('SELECT quote_ident(current_schema()) AS schema')) as {
    schema: string;
  }[];
  return row?.schema ?? '';
}

/** Lists the functions that record changes, each with the number of its triggers. */
async function listFunctions(
  queryRunner: QueryRunner,
): Promise<(RecordFunction & { readonly triggers: number })[]> {
  return (await queryRunner.query(
    `SELECT proname AS name, prosrc AS source,
       (SELECT count(*)::int FROM pg_trigger WHERE tgfoid = pg_proc.oid AND tgenabled <> 'D') AS triggers
     FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND starts_with(proname, $1)`,
    [PREFIX],
  )) as (RecordFunction & { readonly triggers: number })[];
}

/** Drops functions with their triggers. */
async function dropFunctions(
  queryRunner: QueryRunner,
  functions: readonly RecordFunction[],
): Promise<void> {
  for (const { name } of functions) await queryRunner.query(`DROP FUNCTION "${name}"() CASCADE`);
}
