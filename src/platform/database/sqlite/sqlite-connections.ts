import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { PooledSession, type SessionPool, type Statement } from '../batching/session.js';
import type { SessionPools } from '../data-source/store-data-source.js';
import { SqliteConnection } from './sqlite-connection.js';
import { assertWritable, lockStore, StoreFiles } from './store-files.js';
import { type Caller, Turns } from './turns.js';

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

/** The use of a connection for one batch, or for one statement or transaction of a module. */
export interface Turn {
  readonly connection: SqliteConnection;
  /** @param isReusable whether the connection is as it was, with no transaction open */
  end(isReusable: boolean): Promise<void>;
}

/**
 * The connections of one program to a SQLite file. Each writer and reader takes a turn with a
 * connection of its own, which is opened if none is idle.
 */
export class SqliteConnections implements SessionPools {
  private readonly writes = new Turns('to write');
  private readonly rowReads = new Turns('to read');
  private readonly pageReads = new Turns('to read');
  private readonly moduleReads = new Turns('to read', MAX_MODULE_READS);
  readonly writers = this.createPool(this.writes, SqliteSession);
  readonly rowReaders = this.createPool(this.rowReads, ReadingSession);
  readonly pageReaders = this.createPool(this.pageReads, ReadingSession);
  /** The connections that nobody uses. Those of batches never see a statement of a module. */
  private readonly idle: Record<Caller, SqliteConnection[]> = { batch: [], module: [] };
  readonly files: StoreFiles;

  /** @param first stays open: with the last connection SQLite removes the files beside the store */
  private constructor(
    private readonly path: string,
    private readonly lock: SqliteConnection,
    private readonly first: SqliteConnection,
  ) {
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
  async take(access: 'read' | 'write', origin: Error): Promise<Turn> {
    return await this.begin(access === 'read' ? this.moduleReads : this.writes, 'module', origin);
  }

  private createPool(turns: Turns, Session: typeof SqliteSession): SessionPool {
    const acquire = async (): Promise<PooledSession> =>
      new Session(await this.begin(turns, 'batch'), this.files);
    return { size: 1, acquire };
  }

  private async begin(turns: Turns, caller: Caller, origin?: Error): Promise<Turn> {
    const endTurn = await turns.take(caller, origin);
    try {
      const connection = this.idle[caller].pop() ?? (await this.openConnection());
      const end = async (isReusable: boolean): Promise<void> => {
        if (isReusable) this.idle[caller].push(connection);
        else await connection.close();
        endTurn();
      };
      return { connection, end };
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  private async openConnection(): Promise<SqliteConnection> {
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
    const { writes, rowReads, pageReads, moduleReads } = this;
    const turns = [writes, rowReads, pageReads, moduleReads, moduleReads];
    await Promise.all(turns.map(takeAtLast));
    const { batch, module } = this.idle;
    for (const connection of [...batch, ...module, this.first, this.lock]) await connection.close();
  }
}

/** Takes a turn, however long it has to wait. */
async function takeAtLast(turns: Turns): Promise<void> {
  await turns.take('module').catch(() => takeAtLast(turns));
}

/** Statements on one connection to a SQLite database. */
class SqliteSession extends PooledSession {
  protected readonly connection: SqliteConnection;

  constructor(
    private readonly turn: Turn,
    protected readonly files: StoreFiles,
  ) {
    // After a failed BEGIN, the statements behind it would commit one by one.
    super('BEGIN IMMEDIATE', false);
    this.connection = turn.connection;
  }

  query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return this.connection.all<Row>(text, parameters);
  }

  protected control(sql: string): Promise<void> {
    return this.connection.exec(sql);
  }

  override assertSameStore(): void {
    this.files.assertSame();
  }

  async release(): Promise<void> {
    // Nobody may write as a part of a transaction that a batch has left open.
    await this.turn.end(!this.isBroken || (await this.connection.rollBack()));
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
