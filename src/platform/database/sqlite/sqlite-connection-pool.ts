import { WRITE_TIMEOUT_MS } from '../../config/env.js';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import type { PooledSession, SessionPool } from '../batching/session.js';
import { assertOutsideTransaction, FairWriteLock, type ReleaseLock } from './fair-write-lock.js';
import { SqliteConnection } from './sqlite-connection.js';
import { SqliteFile } from './sqlite-file.js';
import { SqlitePooledSession } from './sqlite-session.js';

export const IN_MEMORY = ':memory:';

/**
 * How many statements of TypeORM may read at a time. Each holds one of the four threads that Node
 * has for files and databases: one is left for rows by key and pages, and one for whoever writes.
 */
const MAX_READERS = 2;

/** A connection for one statement or one transaction of TypeORM, with the lock to write where it is needed. */
export interface PooledConnection {
  readonly connection: SqliteConnection;
  /** Whether it is in a transaction already, which has read nothing and locked nothing so far. */
  readonly hasBegun: boolean;
  /** @param isClean whether the connection is as it was, so that others may use it */
  release(isClean: boolean): Promise<void>;
}

/**
 * The connections of one program to a SQLite database: one that commits batches of rows, one that
 * reads rows by key, one that reads pages, and a few for TypeORM, opened when they are needed. A
 * database in memory has a single one, which everybody uses in turn: a second one would be another
 * database.
 */
export class SqliteConnectionPool {
  /** For batches that write. */
  readonly writers: SessionPool;
  /** For rows by key. */
  readonly readers: SessionPool;
  /** For pages: a row by key does not wait for them. */
  readonly pageReaders: SessionPool;

  private readonly lock = new FairWriteLock();
  private readonly idle: SqliteConnection[] = [];
  /**
   * A connection that begins a transaction while others write: the next transaction holds the lock for
   * a step on the thread less. Resolves with undefined when it cannot begin.
   */
  private prebegun: Promise<SqliteConnection | undefined> | undefined;
  private readonly waitingReaders: (() => void)[] = [];
  private readerCount = 0;
  private file: SqliteFile | undefined;
  private isClosed = false;

  private constructor(
    private readonly path: string,
    private readonly busyTimeout: number,
    /** The connection that commits batches. */
    readonly commits: SqliteConnection,
    /** The connections that read rows by key, and pages; in memory the same one. */
    private readonly reads: readonly [SqliteConnection, SqliteConnection],
  ) {
    const [byKey, byPage] = reads;
    this.writers = { size: 1, acquire: () => this.acquireWriter() };
    this.readers = this.isInMemory ? this.writers : this.poolOfOne(byKey);
    this.pageReaders = this.isInMemory ? this.writers : this.poolOfOne(byPage);
    if (!this.isInMemory) this.file = new SqliteFile(path);
  }

  /** @param busyTimeout how long one statement waits for another process's lock, in milliseconds */
  static async open(path: string, busyTimeout: number): Promise<SqliteConnectionPool> {
    const commits = await SqliteConnection.open(path, 'create', busyTimeout);
    const openReader = (): Promise<SqliteConnection> =>
      path === IN_MEMORY
        ? Promise.resolve(commits)
        : SqliteConnection.open(path, 'existing', busyTimeout);
    const reads = [await openReader(), await openReader()] as const;
    return new SqliteConnectionPool(path, busyTimeout, commits, reads);
  }

  /**
   * A connection for one statement or one transaction.
   *
   * @param access what one statement does, or a transaction
   * @param dedicated a connection that the borrower has to itself
   * @param origin where the transaction began, for the log
   * @throws ApiError 50300 when the lock to write, or a place to read, does not come in time
   */
  async acquire(
    access: 'read' | 'write' | 'transaction',
    dedicated?: SqliteConnection,
    origin?: Error,
  ): Promise<PooledConnection> {
    const isReader = access === 'read' && !this.isInMemory;
    if (access !== 'transaction') this.assertOutsideTransaction(access);
    const done = isReader ? await this.enterReaders() : await this.lock.acquire(origin);
    try {
      if (!isReader) this.file?.assertSameUnlessFresh();
      const isPooled = dedicated === undefined && !this.isInMemory;
      const begun = isPooled && access === 'transaction' ? await this.takePrebegun() : undefined;
      const connection =
        begun ?? dedicated ?? (isPooled ? await this.takeIdleOrOpen() : this.commits);
      return {
        connection,
        hasBegun: begun !== undefined,
        release: async (isClean) => {
          if (isPooled) await this.returnToPool(connection, isClean, access === 'transaction');
          done();
        },
      };
    } catch (error) {
      done();
      throw error;
    }
  }

  /** @throws Error when a statement waits for the transaction that it is called from */
  assertOutsideTransaction(access: 'read' | 'write'): void {
    // A reader of a file waits for no writer.
    if (access === 'write' || this.isInMemory) assertOutsideTransaction();
  }

  /** Opens a connection for one borrower who alters it, for instance by a PRAGMA. */
  async openDedicated(): Promise<SqliteConnection> {
    if (this.isInMemory) return this.commits;
    this.assertSameFile();
    const connection = await SqliteConnection.open(this.path, 'existing', this.busyTimeout);
    this.assertSameFile();
    return connection;
  }

  /** Closes a connection that was opened for one borrower alone. */
  async closeDedicated(connection: SqliteConnection): Promise<void> {
    if (connection !== this.commits) {
      await connection.close();
      return;
    }
    const writer = await this.writers.acquire();
    await connection.setUp().finally(() => writer.release(false));
  }

  /** @throws StoreUnavailableError when what was stored is in a file that was removed or replaced */
  assertSameFile(): void {
    this.file?.assertSame();
  }

  /** Closes the store once all that is under way has ended. What comes after that waits for ever. */
  async close(): Promise<void> {
    this.isClosed = true;
    const enter = (): Promise<unknown> => this.enterReaders().catch(enter);
    await Promise.allSettled([
      ...[...new Set([this.writers, this.readers, this.pageReaders])].map((pool) => pool.acquire()),
      ...Array.from({ length: MAX_READERS }, enter),
    ]);
    const prebegun = await this.takePrebegun();
    const all = new Set([...this.idle.splice(0), prebegun, ...this.reads, this.commits]);
    for (const connection of all) await connection?.close();
  }

  private get isInMemory(): boolean {
    return this.path === IN_MEMORY;
  }

  /** The connection that commits, for a batch, as the only writer meanwhile. */
  private async acquireWriter(): Promise<PooledSession> {
    const lock = this.lock.acquireForBatch();
    const release = lock instanceof Promise ? await lock : lock;
    try {
      this.file?.assertSameUnlessFresh();
    } catch (error) {
      release();
      throw error;
    }
    return new SqlitePooledSession(this.commits, () => this.assertSameFile(), release);
  }

  /** A pool of one connection that reads. A queue takes it for one batch at a time. */
  private poolOfOne(connection: SqliteConnection): SessionPool {
    let last: Promise<unknown> = Promise.resolve();
    return {
      size: 1,
      acquire: async () => {
        const before = last;
        let release: ReleaseLock = () => undefined;
        last = new Promise<void>((resolve) => (release = resolve));
        await before;
        try {
          this.file?.assertSameUnlessFresh();
        } catch (error) {
          release();
          throw error;
        }
        return new SqlitePooledSession(connection, () => undefined, release);
      },
    };
  }

  /** @throws ApiError 50300 when no reader ends in time */
  private async enterReaders(): Promise<ReleaseLock> {
    if (this.readerCount < MAX_READERS) this.readerCount++;
    else await this.waitForReader();
    return () => {
      const next = this.waitingReaders.shift();
      if (next === undefined) this.readerCount--;
      else next();
    };
  }

  private async waitForReader(): Promise<void> {
    const { waitingReaders } = this;
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waitingReaders.splice(waitingReaders.indexOf(enter), 1);
        reject(new ApiError(ErrorCatalogue.UNAVAILABLE));
      }, WRITE_TIMEOUT_MS);
      waitingReaders.push(enter);
    });
  }

  private async takeIdleOrOpen(): Promise<SqliteConnection> {
    return this.idle.pop() ?? (await this.openDedicated());
  }

  private takePrebegun(): Promise<SqliteConnection | undefined> | undefined {
    const { prebegun } = this;
    this.prebegun = undefined;
    return prebegun;
  }

  private async returnToPool(
    connection: SqliteConnection,
    isClean: boolean,
    wasTransaction: boolean,
  ): Promise<void> {
    if (!isClean || this.isClosed) await connection.close();
    else if (wasTransaction && this.prebegun === undefined) this.prebegun = begin(connection);
    else this.idle.push(connection);
  }
}

async function begin(connection: SqliteConnection): Promise<SqliteConnection | undefined> {
  try {
    await connection.exec('BEGIN');
    return connection;
  } catch {
    await connection.close();
    return undefined;
  }
}
