import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import {
  type PooledSession,
  type SessionPool,
  SqlSession,
  type Statement,
} from '../batching/session.js';
import type { SessionPools } from '../data-source/store-data-source.js';
import { SqliteConnection } from './sqlite-connection.js';
import { StoreFiles } from './store-files.js';
import { Turns } from './turns.js';

/**
 * How many statements of modules may read at a time. Each holds one of Node's four threads. The
 * writer, and the readers of rows by key and of pages, share the others.
 */
const MAX_MODULE_READS = 2;

/** A connection for one statement or one transaction of a module. */
export interface ModuleTurn {
  readonly connection: SqliteConnection;
  /** @param isReusable whether the connection is as it was, with no transaction open */
  end(isReusable: boolean): Promise<void>;
}

/**
 * The connections of one program to a SQLite file: one commits batches of rows, one reads rows by
 * key, one reads pages, and a few for modules are opened on demand.
 */
export class SqliteConnections implements SessionPools {
  readonly writers: SessionPool = { size: 1, acquire: () => this.acquireWriter() };
  readonly rowReaders: SessionPool;
  readonly pageReaders: SessionPool;

  private readonly writes = new Turns('to write');
  private readonly moduleReads = new Turns('to read', MAX_MODULE_READS);
  private readonly batchReads = [new Turns('to read'), new Turns('to read')] as const;
  /** The connections for modules that are not in use. */
  private readonly idle: SqliteConnection[] = [];
  private readonly files: StoreFiles;

  private constructor(
    private readonly path: string,
    private readonly busyTimeout: number,
    /** The connection that commits batches. */
    public commits: SqliteConnection,
    private readonly readers: readonly [SqliteConnection, SqliteConnection],
  ) {
    this.files = new StoreFiles(path);
    this.rowReaders = this.createReaders(readers[0], this.batchReads[0]);
    this.pageReaders = this.createReaders(readers[1], this.batchReads[1]);
  }

  /**
   * @param path of an existing file
   * @param busyTimeout how long one statement waits for another process's lock, in milliseconds
   */
  static async open(path: string, busyTimeout: number): Promise<SqliteConnections> {
    const open = (): Promise<SqliteConnection> => SqliteConnection.open(path, busyTimeout);
    const commits = await open();
    return new SqliteConnections(path, busyTimeout, commits, [await open(), await open()]);
  }

  /**
   * Takes a turn for a statement or a transaction of a module.
   *
   * @param origin where the module takes it, for the log
   * @throws StoreUnavailableError when no turn is free in time, or the store is not the same file
   */
  async take(access: 'read' | 'write', origin: Error): Promise<ModuleTurn> {
    const turns = access === 'read' ? this.moduleReads : this.writes;
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

  /** @throws StoreUnavailableError when the file of the store was removed or replaced */
  assertSameStore(): void {
    this.files.assertSame();
  }

  /** Closes the store once all statements and transactions have ended that began before. */
  async close(): Promise<void> {
    const turns = [this.writes, ...this.batchReads, this.moduleReads, this.moduleReads];
    await Promise.all(turns.map(takeAtLast));
    for (const connection of [...this.idle, ...this.readers, this.commits]) {
      await connection.close();
    }
  }

  private async acquireWriter(): Promise<PooledSession> {
    const endTurn = await this.writes.take('batch');
    try {
      if (this.commits.isClosed) this.commits = await this.openConnection();
    } catch (error) {
      endTurn();
      throw error;
    }
    const release = async (isBroken: boolean): Promise<void> => {
      // Nobody may write as a part of a transaction that a batch has left open.
      if (isBroken && !(await this.commits.rollBack())) await this.commits.close();
      endTurn();
    };
    return new SqliteSession(this.commits, () => this.files.assertSame(), release);
  }

  private createReaders(connection: SqliteConnection, turns: Turns): SessionPool {
    const assertSameStore = (): void => this.files.assertSameUnlessFresh();
    return {
      size: 1,
      acquire: async () =>
        new SqliteReadingSession(connection, assertSameStore, await turns.take('batch')),
    };
  }

  private async openConnection(): Promise<SqliteConnection> {
    this.files.assertSame();
    const connection = await SqliteConnection.open(this.path, this.busyTimeout);
    try {
      this.files.assertSame();
      return connection;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }
}

/** Takes a turn, however long it has to wait. */
async function takeAtLast(turns: Turns): Promise<void> {
  await turns.take('module').catch(() => takeAtLast(turns));
}

/** Statements on one connection to a SQLite database. */
class SqliteSession extends SqlSession {
  /** @param giveBack ends the turn; a broken connection is replaced first */
  constructor(
    protected readonly connection: SqliteConnection,
    readonly assertSameStore: () => void,
    private readonly giveBack: (isBroken: boolean) => Promise<void> | void,
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

  async release(): Promise<void> {
    await this.giveBack(this.isBroken);
  }
}

/** A session that only reads. It aborts a statement whose requests have got 503 meanwhile. */
class SqliteReadingSession extends SqliteSession {
  override async query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    // More than once, since an interrupt has no effect before the statement has begun.
    const timer = setInterval(() => this.connection.interrupt(), WAIT_TIMEOUT_MS);
    try {
      return await super.query<Row>(statement, parameters);
    } finally {
      clearInterval(timer);
    }
  }
}
