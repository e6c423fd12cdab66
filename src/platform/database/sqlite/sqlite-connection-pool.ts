import { SqliteConnection } from './sqlite-connection.js';
import { SqliteFile } from './sqlite-file.js';
import { assertOutsideTransaction, WriteTurns } from './fair-write-lock.js';

export const IN_MEMORY = ':memory:';

/**
 * How many statements of TypeORM may read at a time. Each holds one of the four threads that Node
 * has for files and databases: one is left for reading rows by key, and one for whoever writes.
 */
const MAX_READERS = 2;

/** A connection that is lent, with the turn to write where that was asked for. */
export interface Lease {
  readonly connection: SqliteConnection;
  /** Whether it is in a transaction already, which has read nothing and locked nothing so far. */
  readonly hasBegun: boolean;
  /** @param isClean whether the connection is as it was lent, so that others may use it */
  release(isClean: boolean): Promise<void>;
}

/**
 * The connections of one program to a SQLite database: one that commits rows in groups, one that
 * reads rows by key, and a few for TypeORM, opened when they are needed. A database in memory has a
 * single one, which everybody uses in turn, since a second one would be another database.
 */
export class SqliteConnections {
  private readonly turns = new WriteTurns();
  private readonly idle: SqliteConnection[] = [];
  /**
   * One that begins a transaction while others write: the next transaction holds its turn for a step
   * on the thread less. Resolves with undefined when it cannot begin.
   */
  private ahead: Promise<SqliteConnection | undefined> | undefined;
  private readonly waitingReaders: (() => void)[] = [];
  private readers = 0;
  private lastRead: Promise<unknown> = Promise.resolve();
  private file: SqliteFile | undefined;
  private isClosed = false;

  private constructor(
    private readonly path: string,
    private readonly busyTimeout: number,
    /** The one that commits rows in groups. */
    readonly commits: SqliteConnection,
    /** The one that reads rows by key; in memory the same. */
    readonly reads: SqliteConnection,
  ) {
    if (!this.isInMemory) this.file = new SqliteFile(path);
  }

  /** @param busyTimeout how long one statement waits for another process's lock, in milliseconds */
  static async open(path: string, busyTimeout: number): Promise<SqliteConnections> {
    const commits = await SqliteConnection.open(path, 'create', busyTimeout);
    const reads =
      path === IN_MEMORY ? commits : await SqliteConnection.open(path, 'existing', busyTimeout);
    return new SqliteConnections(path, busyTimeout, commits, reads);
  }

  /**
   * Lends a connection, for one statement or a transaction.
   *
   * @param access what one statement does, or a transaction
   * @param own a connection that the borrower has had to itself
   * @param origin where the transaction began, for the log
   * @throws ApiError 50300 when the turn to write does not come in time
   */
  async lend(
    access: 'read' | 'write' | 'transaction',
    own?: SqliteConnection,
    origin?: Error,
  ): Promise<Lease> {
    const isReader = access === 'read' && !this.isInMemory;
    if (!isReader && access !== 'transaction') assertOutsideTransaction();
    const done = isReader ? await this.enterReaders() : await this.takeTurn(origin);
    try {
      if (!isReader) this.file?.assertSameBefore();
      const isPooled = own === undefined && !this.isInMemory;
      const begun = isPooled && access === 'transaction' ? await this.takeAhead() : undefined;
      const connection = begun ?? own ?? (isPooled ? await this.idleOrNew() : this.commits);
      return {
        connection,
        hasBegun: begun !== undefined,
        release: async (isClean) => {
          if (isPooled) await this.takeBack(connection, isClean, access === 'transaction');
          done();
        },
      };
    } catch (error) {
      done();
      throw error;
    }
  }

  /** Opens a connection for one borrower who alters it, for instance by a PRAGMA. */
  async openOwn(): Promise<SqliteConnection> {
    if (this.isInMemory) return this.commits;
    this.assertSameFile();
    const connection = await SqliteConnection.open(this.path, 'existing', this.busyTimeout);
    this.assertSameFile();
    return connection;
  }

  /** Closes a connection that was opened for one alone. */
  async closeOwn(connection: SqliteConnection): Promise<void> {
    if (connection === this.commits) await this.commit(() => connection.setUp());
    else await connection.close();
  }

  /** Commits rows in groups, as the only writer meanwhile. */
  async commit<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.turns.forBatch();
    const { release } = turn instanceof Promise ? await turn : turn;
    try {
      this.file?.assertSameBefore();
      const result = await work();
      this.assertSameFile();
      return result;
    } finally {
      release();
    }
  }

  /** Reads rows beside TypeORM's statements, one reader after the other. */
  async read<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.isInMemory) return await this.commit(work);
    const result = this.lastRead.then(() => {
      this.file?.assertSameBefore();
      return work();
    });
    this.lastRead = result.catch(() => undefined);
    return await result;
  }

  /** @throws StoreUnavailableError when what was stored is in a file that was removed or replaced */
  assertSameFile(): void {
    this.file?.assertSame();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const ahead = await this.takeAhead();
    const all = new Set([...this.idle.splice(0), ahead, this.reads, this.commits]);
    for (const connection of all) await connection?.close();
  }

  private get isInMemory(): boolean {
    return this.path === IN_MEMORY;
  }

  private async takeTurn(origin: Error | undefined): Promise<() => void> {
    const { release } = await this.turns.forOther(origin);
    return release;
  }

  private async enterReaders(): Promise<() => void> {
    if (this.readers < MAX_READERS) this.readers++;
    else await new Promise<void>((resolve) => this.waitingReaders.push(resolve));
    return () => {
      const next = this.waitingReaders.shift();
      if (next === undefined) this.readers--;
      else next();
    };
  }

  private async idleOrNew(): Promise<SqliteConnection> {
    return this.idle.pop() ?? (await this.openOwn());
  }

  private takeAhead(): Promise<SqliteConnection | undefined> | undefined {
    const { ahead } = this;
    this.ahead = undefined;
    return ahead;
  }

  private async takeBack(
    connection: SqliteConnection,
    isClean: boolean,
    wasTransaction: boolean,
  ): Promise<void> {
    if (!isClean || this.isClosed) await connection.close();
    else if (wasTransaction && this.ahead === undefined) this.ahead = begin(connection);
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
