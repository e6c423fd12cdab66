import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import type { PooledSession, SessionPool } from '../batching/session.js';
import { FairWriteLock, type ReleaseLock } from './fair-write-lock.js';
import { SqliteConnection } from './sqlite-connection.js';
import { StoreFiles } from './store-files.js';
import { SqliteReadingSession, SqliteSession } from './sqlite-session.js';
import { assertOutsideTransaction } from './transaction-scope.js';

export const IN_MEMORY = ':memory:';

/**
 * How many statements of TypeORM may read at a time. Each holds one of Node's four threads. The
 * writer, and the readers of rows by key and of pages, share the others.
 */
const MAX_TYPEORM_READS = 2;

/** A connection for one statement or one transaction of TypeORM, with the write lock if needed. */
export interface PooledConnection {
  readonly connection: SqliteConnection;
  /** Whether BEGIN has been executed on it, without any statement since. */
  readonly hasBegun: boolean;
  /** @param isBroken whether the connection must not be used again as it is */
  release(isBroken: boolean): Promise<void>;
}

/**
 * The connections of one program to a SQLite database: one commits batches of rows, one reads rows
 * by key, one reads pages, and a few for TypeORM are opened on demand. A database in memory has a
 * single connection, which all share: a second one would open another database.
 */
export class SqliteConnectionPool {
  readonly writers: SessionPool;
  readonly rowReaders: SessionPool;
  /** Separate from {@link rowReaders}, so that reading rows by key does not wait for pages. */
  readonly pageReaders: SessionPool;

  private readonly lock = new FairWriteLock();
  private readonly idle: SqliteConnection[] = [];
  /**
   * A connection on which BEGIN was sent when its last transaction ended, so that the next
   * transaction need not send it while it holds the lock. Resolves with undefined when BEGIN fails.
   */
  private prebegun: Promise<SqliteConnection | undefined> | undefined;
  private readonly waitingReads: (() => void)[] = [];
  private typeOrmReads = 0;
  private files: StoreFiles | undefined;
  private isClosed = false;

  private constructor(
    private readonly path: string,
    private readonly busyTimeout: number,
    /** The connection that commits batches. */
    public commits: SqliteConnection,
    /** The connections that read rows by key, and pages; in memory both are `commits`. */
    private readonly readConnections: readonly [SqliteConnection, SqliteConnection],
  ) {
    const [byKey, byPage] = readConnections;
    this.writers = { size: 1, acquire: () => this.acquireWriter() };
    this.rowReaders = this.isInMemory ? this.writers : this.createSinglePool(byKey);
    this.pageReaders = this.isInMemory ? this.writers : this.createSinglePool(byPage);
    if (!this.isInMemory) this.files = new StoreFiles(path);
  }

  /** @param busyTimeout how long one statement waits for another process's lock, in milliseconds */
  static async open(path: string, busyTimeout: number): Promise<SqliteConnectionPool> {
    const commits = await SqliteConnection.open(path, 'create', busyTimeout);
    const openToRead = (): Promise<SqliteConnection> =>
      path === IN_MEMORY
        ? Promise.resolve(commits)
        : SqliteConnection.open(path, 'existing', busyTimeout);
    const readConnections = [await openToRead(), await openToRead()] as const;
    return new SqliteConnectionPool(path, busyTimeout, commits, readConnections);
  }

  /**
   * Acquires a connection for one statement or one transaction.
   *
   * @param access the access of a single statement, or a transaction
   * @param dedicated the caller's own connection, instead of a pooled one
   * @param origin where the transaction began, for the log
   * @throws ApiError 50300 when the write lock, or a place for reading, is not free in time
   */
  async acquire(
    access: 'read' | 'write' | 'transaction',
    dedicated?: SqliteConnection,
    origin?: Error,
  ): Promise<PooledConnection> {
    const needsLock = access !== 'read' || this.isInMemory;
    if (access !== 'transaction') this.assertOutsideTransaction(access);
    const done = needsLock ? await this.lock.acquire(origin) : await this.enterTypeOrmReads();
    try {
      if (needsLock) this.files?.assertSameStoreUnlessFresh();
      const isPooled = dedicated === undefined && !this.isInMemory;
      const begun = isPooled && access === 'transaction' ? await this.takePrebegun() : undefined;
      const connection =
        begun ??
        dedicated ??
        (isPooled ? (this.idle.pop() ?? (await this.openConnection())) : this.commits);
      return {
        connection,
        hasBegun: begun !== undefined,
        release: async (isBroken) => {
          if (isPooled) await this.returnToPool(connection, isBroken, access === 'transaction');
          done();
        },
      };
    } catch (error) {
      done();
      throw error;
    }
  }

  /** @throws Error when a statement would wait for the transaction that it is called from */
  assertOutsideTransaction(access: 'read' | 'write'): void {
    // Reading from a file does not wait for the writer.
    if (access === 'write' || this.isInMemory) assertOutsideTransaction();
  }

  /** Opens a connection for one caller that alters it, for instance by a PRAGMA. */
  async openDedicated(): Promise<SqliteConnection> {
    return this.isInMemory ? this.commits : await this.openConnection();
  }

  /** Closes a connection from openDedicated(). */
  async closeDedicated(connection: SqliteConnection): Promise<void> {
    if (connection !== this.commits) {
      await connection.close();
      return;
    }
    const writer = await this.writers.acquire();
    await connection.setUp().finally(() => writer.release(false));
  }

  /** @throws StoreUnavailableError when the file of the store was removed or replaced */
  assertSameStore(): void {
    this.files?.assertSameStore();
  }

  /**
   * Closes the store once all running statements and transactions have ended. Later calls of
   * acquire() wait for ever.
   */
  async close(): Promise<void> {
    this.isClosed = true;
    const enter = (): Promise<unknown> => this.enterTypeOrmReads().catch(enter);
    await Promise.allSettled([
      ...[...new Set([this.writers, this.rowReaders, this.pageReaders])].map((pool) =>
        pool.acquire(),
      ),
      ...Array.from({ length: MAX_TYPEORM_READS }, enter),
    ]);
    const prebegun = await this.takePrebegun();
    const all = new Set([...this.idle.splice(0), prebegun, ...this.readConnections, this.commits]);
    for (const connection of all) if (connection?.isClosed === false) await connection.close();
  }

  private get isInMemory(): boolean {
    return this.path === IN_MEMORY;
  }

  /** Acquires the committing connection for a batch, with the write lock. */
  private async acquireWriter(): Promise<PooledSession> {
    const passOn = await this.lock.acquireForBatch();
    try {
      this.files?.assertSameStoreUnlessFresh();
      if (this.commits.isClosed) this.commits = await this.openConnection();
    } catch (error) {
      passOn();
      throw error;
    }
    const giveBack = async (isBroken: boolean): Promise<void> => {
      if (isBroken) await this.endTransaction();
      passOn();
    };
    return new SqliteSession(this.commits, () => this.assertSameStore(), giveBack);
  }

  /** Ends a transaction that a batch has left open, so that nobody writes as a part of it. */
  private async endTransaction(): Promise<void> {
    if (!(await this.commits.rollBack())) await this.commits.close();
  }

  /** Creates a pool of one connection that only reads. */
  private createSinglePool(connection: SqliteConnection): SessionPool {
    let last: Promise<unknown> = Promise.resolve();
    return {
      size: 1,
      acquire: async () => {
        const before = last;
        let release: ReleaseLock = () => undefined;
        last = new Promise<void>((resolve) => (release = resolve));
        await before;
        try {
          this.files?.assertSameStoreUnlessFresh();
        } catch (error) {
          release();
          throw error;
        }
        const giveBack = (): Promise<void> => Promise.resolve().then(release);
        return new SqliteReadingSession(connection, () => undefined, giveBack);
      },
    };
  }

  /** @throws ApiError 50300 when no place is free in time */
  private async enterTypeOrmReads(): Promise<ReleaseLock> {
    if (this.typeOrmReads < MAX_TYPEORM_READS) this.typeOrmReads++;
    else await this.waitForReader();
    return () => {
      const next = this.waitingReads.shift();
      if (next === undefined) this.typeOrmReads--;
      else next();
    };
  }

  private async waitForReader(): Promise<void> {
    const { waitingReads } = this;
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waitingReads.splice(waitingReads.indexOf(enter), 1);
        reject(new ApiError(ErrorCatalogue.UNAVAILABLE));
      }, WAIT_TIMEOUT_MS);
      waitingReads.push(enter);
    });
  }

  private async openConnection(): Promise<SqliteConnection> {
    this.assertSameStore();
    const connection = await SqliteConnection.open(this.path, 'existing', this.busyTimeout);
    this.assertSameStore();
    return connection;
  }

  private takePrebegun(): Promise<SqliteConnection | undefined> | undefined {
    const { prebegun } = this;
    this.prebegun = undefined;
    return prebegun;
  }

  private async returnToPool(
    connection: SqliteConnection,
    isBroken: boolean,
    wasTransaction: boolean,
  ): Promise<void> {
    if (isBroken || this.isClosed) await connection.close();
    else if (wasTransaction && this.prebegun === undefined) this.prebegun = beginAhead(connection);
    else this.idle.push(connection);
  }
}

async function beginAhead(connection: SqliteConnection): Promise<SqliteConnection | undefined> {
  try {
    // BEGIN locks nothing before the first statement.
    await connection.exec('BEGIN');
    return connection;
  } catch {
    await connection.close();
    return undefined;
  }
}
