import { WRITE_TIMEOUT_MS } from '../../config/env.js';
import { ApiError } from '../../errors/api-error.js';
import { ErrorCatalogue } from '../../errors/error-catalogue.js';
import type { PooledSession, SessionPool } from '../batching/session.js';
import { FairWriteLock, type ReleaseLock } from './fair-write-lock.js';
import { SqliteConnection } from './sqlite-connection.js';
import { SqliteFile } from './sqlite-file.js';
import { SqlitePooledSession } from './sqlite-session.js';
import { assertOutsideTransaction } from './transaction-scope.js';

export const IN_MEMORY = ':memory:';

/**
 * How many statements of TypeORM may read at a time. Each holds one of Node's four threads: one is left
 * for rows by key and pages, and one for whoever writes.
 */
const MAX_TYPEORM_READS = 2;

/** A connection for one statement or one transaction of TypeORM, with the lock to write where it is needed. */
export interface PooledConnection {
  readonly connection: SqliteConnection;
  /** Whether it is in a transaction already, which has read nothing and locked nothing so far. */
  readonly hasBegun: boolean;
  /** @param isBroken whether nobody may use the connection again as it is */
  release(isBroken: boolean): Promise<void>;
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
  readonly rowReaders: SessionPool;
  /** For pages: a row by key does not wait for them. */
  readonly pageReaders: SessionPool;

  private readonly lock = new FairWriteLock();
  private readonly idle: SqliteConnection[] = [];
  /**
   * A connection on which BEGIN runs ahead of need, since its last transaction ended, so that the next
   * transaction need not send it while it holds the lock. Resolves with undefined when BEGIN fails.
   */
  private prebegun: Promise<SqliteConnection | undefined> | undefined;
  private readonly waitingReads: (() => void)[] = [];
  private typeOrmReads = 0;
  private file: SqliteFile | undefined;
  private isClosed = false;

  private constructor(
    private readonly path: string,
    private readonly busyTimeout: number,
    /** The connection that commits batches. */
    readonly commits: SqliteConnection,
    /** The connections that read rows by key, and pages; in memory the same one. */
    private readonly readConnections: readonly [SqliteConnection, SqliteConnection],
  ) {
    const [byKey, byPage] = readConnections;
    this.writers = { size: 1, acquire: () => this.acquireWriter() };
    this.rowReaders = this.isInMemory ? this.writers : this.poolOfOne(byKey);
    this.pageReaders = this.isInMemory ? this.writers : this.poolOfOne(byPage);
    if (!this.isInMemory) this.file = new SqliteFile(path);
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
    const needsLock = access !== 'read' || this.isInMemory;
    if (access !== 'transaction') this.assertOutsideTransaction(access);
    const done = needsLock ? await this.lock.acquire(origin) : await this.enterTypeOrmReads();
    try {
      if (needsLock) this.file?.assertSameStoreUnlessFresh();
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

  /** @throws Error when a statement waits for the transaction that it is called from */
  assertOutsideTransaction(access: 'read' | 'write'): void {
    // A reader of a file waits for no writer.
    if (access === 'write' || this.isInMemory) assertOutsideTransaction();
  }

  /** Opens a connection for one borrower who alters it, for instance by a PRAGMA. */
  async openDedicated(): Promise<SqliteConnection> {
    return this.isInMemory ? this.commits : await this.openConnection();
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
  assertSameStore(): void {
    this.file?.assertSameStore();
  }

  /** Closes the store once all that is under way has ended. What comes after that waits for ever. */
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
    for (const connection of all) await connection?.close();
  }

  private get isInMemory(): boolean {
    return this.path === IN_MEMORY;
  }

  /** The connection that commits, for a batch, as the only writer meanwhile. */
  private async acquireWriter(): Promise<PooledSession> {
    const release = await this.lock.acquireForBatch();
    try {
      this.file?.assertSameStoreUnlessFresh();
    } catch (error) {
      release();
      throw error;
    }
    return new SqlitePooledSession(this.commits, () => this.assertSameStore(), release);
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
          this.file?.assertSameStoreUnlessFresh();
        } catch (error) {
          release();
          throw error;
        }
        return new SqlitePooledSession(connection, () => undefined, release);
      },
    };
  }

  /** @throws ApiError 50300 when no reader ends in time */
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
      }, WRITE_TIMEOUT_MS);
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
    // Locks nothing before its first statement.
    await connection.exec('BEGIN');
    return connection;
  } catch {
    await connection.close();
    return undefined;
  }
}
