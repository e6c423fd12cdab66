import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import {
  type PooledSession,
  type SessionPool,
  SqlSession,
  type Statement,
} from '../batching/session.js';
import type { SessionPools } from '../data-source/store-data-source.js';
import { SqliteConnection } from './sqlite-connection.js';
import { lockStore } from './sqlite-process-lock.js';
import { assertWritable, StoreFiles } from './store-files.js';
import { Turns } from './turns.js';

/**
 * How many statements of modules may read at a time. Each holds one of Node's four threads. The
 * writer, and the readers of rows by key and of pages, share the others.
 */
const MAX_MODULE_READS = 2;

/**
 * Sets a connection up: a commit is flushed to disk before it is reported, foreign keys are
 * enforced, and a row that is replaced fires the triggers of a deletion. A statement waits 2
 * seconds for a lock of another process, such as a backup.
 */
const SET_UP = `
  PRAGMA busy_timeout = 2000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  PRAGMA recursive_triggers = ON`;

/** A connection for one statement or one transaction of a module. */
export interface ModuleTurn {
  readonly connection: SqliteConnection;
  /** @param isReusable whether the connection is as it was, with no transaction open */
  end(isReusable: boolean): Promise<void>;
}

/**
 * The connections of one program to a SQLite file: one commits batches of rows, one reads rows by
 * key, one reads pages, and a few are for modules. Each is opened when it is first needed.
 */
export class SqliteConnections implements SessionPools {
  readonly writers = new BatchConnection(this, SqliteSession, new Turns('to write'));
  readonly rowReaders = new BatchConnection(this, ReadingSession, new Turns('to read'));
  readonly pageReaders = new BatchConnection(this, ReadingSession, new Turns('to read'));
  private readonly moduleReads = new Turns('to read', MAX_MODULE_READS);
  /** The connections for modules that are not in use. */
  private readonly idle: SqliteConnection[] = [];
  readonly files: StoreFiles;

  /** @param first stays open: with the last connection SQLite removes the files beside the store */
  private constructor(
    private readonly path: string,
    private readonly lock: SqliteConnection,
    first: SqliteConnection,
  ) {
    this.rowReaders.connection = first;
    this.files = new StoreFiles(path);
  }

  /**
   * Opens the file of a store, and creates it if it is missing.
   *
   * @throws DatabaseStartError when this user may not write to it, or another program uses it
   */
  static async open(path: string): Promise<SqliteConnections> {
    await assertWritable(path);
    const lock = await lockStore(path);
    try {
      const first = await SqliteConnection.open(path, SET_UP);
      // SQLite creates the files beside that of the store when it first reads.
      await first.exec('PRAGMA schema_version');
      return new SqliteConnections(path, lock, first);
    } catch (error) {
      await lock.close();
      throw error;
    }
  }

  /**
   * Takes a turn for a statement or a transaction of a module.
   *
   * @param origin where the module takes it, for the log
   * @throws StoreUnavailableError when no turn is free in time, or the store is not the same file
   */
  async take(access: 'read' | 'write', origin: Error): Promise<ModuleTurn> {
    const turns = access === 'read' ? this.moduleReads : this.writers.turns;
    const endTurn = await turns.take('module', origin);
    try {
      const connection = this.idle.pop() ?? (await this.openConnection());
      const end = async (isReusable: boolean): Promise<void> => {
        if (isReusable) this.idle.push(connection);
        else await connection.close();
        endTurn();
      };
      return { connection, end };
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  async openConnection(): Promise<SqliteConnection> {
    this.files.assertSame();
    const connection = await SqliteConnection.open(this.path, SET_UP);
    try {
      this.files.assertSame();
      return connection;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Closes the store once all statements and transactions have ended that began before. */
  async close(): Promise<void> {
    const batches = [this.writers, this.rowReaders, this.pageReaders];
    const turns = [...batches.map((one) => one.turns), this.moduleReads, this.moduleReads];
    await Promise.all(turns.map(takeAtLast));
    const connections = [...this.idle, ...batches.map((one) => one.connection), this.lock];
    for (const connection of connections) await connection?.close();
  }
}

/** Takes a turn, however long it has to wait. */
async function takeAtLast(turns: Turns): Promise<void> {
  await turns.take('module').catch(() => takeAtLast(turns));
}

/** The connection for one kind of batches, which take turns on it. */
class BatchConnection implements SessionPool {
  readonly size = 1;
  /** Undefined until the first batch. */
  connection: SqliteConnection | undefined;

  constructor(
    private readonly store: SqliteConnections,
    private readonly Session: typeof SqliteSession,
    readonly turns: Turns,
  ) {}

  async acquire(): Promise<PooledSession> {
    const endTurn = await this.turns.take('batch');
    try {
      if (this.connection?.isClosed !== false) this.connection = await this.store.openConnection();
      return new this.Session(this.connection, this.store.files, endTurn);
    } catch (error) {
      endTurn();
      throw error;
    }
  }
}

/** Statements on one connection to a SQLite database. */
class SqliteSession extends SqlSession {
  constructor(
    protected readonly connection: SqliteConnection,
    protected readonly files: StoreFiles,
    private readonly endTurn: () => void,
  ) {
    // After a failed BEGIN, the statements behind it would commit one by one.
    super('BEGIN IMMEDIATE', false);
  }

  query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return this.connection.all<Row>(text, parameters);
  }

  protected control(sql: string): Promise<void> {
    return this.connection.exec(sql);
  }

  assertSameStore(): void {
    this.files.assertSame();
  }

  async release(): Promise<void> {
    // Nobody may write as a part of a transaction that a batch has left open.
    if (this.isBroken && !(await this.connection.rollBack())) await this.connection.close();
    this.endTurn();
  }
}

/** A session that only reads. It aborts a statement whose requests have got 503 meanwhile. */
class ReadingSession extends SqliteSession {
  override async query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    // More than once, since an interrupt has no effect before the statement has begun.
    const timer = setInterval(() => this.connection.interrupt(), WAIT_TIMEOUT_MS);
    try {
      return await super.query<Row>(statement, parameters);
    } finally {
      clearInterval(timer);
    }
  }

  override assertSameStore(): void {
    this.files.assertSameUnlessFresh();
  }
}
