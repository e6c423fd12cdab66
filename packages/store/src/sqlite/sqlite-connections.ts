import type { PooledSession, SessionPool, SessionPools, Statement } from '../engine/engine.js';
import type { TimeLimits } from '../engine/time-limits.js';
import { PooledSqlSession } from '../engine/sessions.js';
import { DatabaseStartError, StoreUnavailableError } from '../errors/store.errors.js';
import { ReplacedRows } from './replaced-rows.js';
import { SqliteConnection } from './sqlite-connection.js';
import { assertWritable, flush, lockStore, StoreFiles } from './store-files.js';
import { Turns, type Work } from './turns.js';

/** How many threads Node has for files and databases. */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE) || 4;

/** How many statements may read at a time. */
interface ReaderCounts {
  readonly pages: number;
  /** Statements of modules. */
  readonly modules: number;
}

/**
 * Divides Node's threads. Each reader holds one, and so does the writer. At least one is left for
 * everything else. With one reader of each kind the program works with fewer threads, but slower.
 *
 * @throws DatabaseStartError when several readers of pages would leave too few
 */
export function divideThreads(pages: number, threads = THREADS): ReaderCounts {
  const modules = threads - pages - 2;
  if (modules < 1 && pages > 1) {
    const needed = pages + 3;
    throw new DatabaseStartError(
      `FILE_PAGE_READERS=${pages} needs ${needed} threads, and Node has ${threads}: lower it, or set UV_THREADPOOL_SIZE=${needed} in the environment, not in .env`,
    );
  }
  return { pages, modules: Math.max(1, modules) };
}

/**
 * How large the write-ahead log may be, in bytes, before it is emptied. SQLite empties it only when
 * there is no reader, which may never happen while modules read without a pause.
 */
export const MAX_LOG_BYTES = 16 * 1_024 * 1_024;
const EMPTY_LOG = 'PRAGMA wal_checkpoint(TRUNCATE)';

/** How many pages the write-ahead log has when it is copied into the store, as SQLite's default. */
const MAX_LOG_PAGES = 1_000;
const COPY_LOG = 'PRAGMA wal_checkpoint(PASSIVE)';

/**
 * Sets a connection up: a commit is flushed to disk before it is reported, and foreign keys are
 * enforced. A statement waits for a lock of another process, such as a backup. A log that a reader
 * of another process has let grow is truncated. A commit does not copy the log into the store,
 * since the program checks its locks in between.
 */
const setUp = ({ fileLockMs }: TimeLimits): string => `
  PRAGMA busy_timeout = ${fileLockMs};
  PRAGMA journal_mode = WAL;
  PRAGMA wal_autocheckpoint = 0;
  PRAGMA journal_size_limit = ${MAX_LOG_BYTES};
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON`;

/**
 * The fate of a connection after a turn: others share it, its caller keeps it, or it is closed.
 */
export type NextUse = 'shared' | 'kept' | 'closed';

/** The use of a connection for one batch, or for one statement or transaction of a module. */
export interface Turn {
  readonly connection: SqliteConnection;
  /** @param nextUse `shared` only if the connection is as it was, with no transaction open */
  end(nextUse: NextUse): Promise<void>;
}

/**
 * The connections of one program to a SQLite file. Each writer and reader takes a turn with a
 * connection of its own, which is opened if none is idle.
 */
export class SqliteConnections implements SessionPools {
  private readonly writes: Turns;
  private readonly rowReads: Turns;
  private readonly pageReads: Turns;
  private readonly moduleReads: Turns;
  readonly writers: SessionPool;
  readonly rowReaders: SessionPool;
  readonly pageReaders: SessionPool;
  /** The idle connections. Connections of batches never see a statement of a module. */
  private readonly idle: Record<Work, SqliteConnection[]> = { batch: [], module: [] };
  readonly files: StoreFiles;
  readonly replacedRows = new ReplacedRows();
  /** The size of the log at which it is emptied next. */
  private logLimit = MAX_LOG_BYTES;
  private isClosed = false;

  /**
   * @param first stays open: with the last connection SQLite removes the files beside the store. It
   *   only empties the log.
   */
  private constructor(
    private readonly path: string,
    private readonly lock: SqliteConnection,
    private readonly first: SqliteConnection,
    readonly limits: TimeLimits,
    readers: ReaderCounts,
  ) {
    this.files = new StoreFiles(path);
    const { waitMs } = limits;
    this.writes = new Turns('to write', waitMs);
    this.rowReads = new Turns('to read', waitMs);
    this.pageReads = new Turns('to read', waitMs, readers.pages);
    this.moduleReads = new Turns('to read', waitMs, readers.modules);
    this.writers = this.createPool(this.writes, SqliteSession);
    this.rowReaders = this.createPool(this.rowReads, ReadingSession);
    this.pageReaders = this.createPool(this.pageReads, ReadingSession);
  }

  /**
   * Opens the file of a store, and creates it if it is missing.
   *
   * @throws DatabaseStartError when this user may not write to it, or another program uses it
   */
  static async open(
    path: string,
    limits: TimeLimits,
    readers: ReaderCounts,
  ): Promise<SqliteConnections> {
    await assertWritable(path);
    const lock = await lockStore(path, limits);
    try {
      // The operator may have replaced the store by a copy without flushing it. Later this would
      // drop SQLite's locks.
      await flush(path);
      const first = await SqliteConnection.open(path, setUp(limits));
      // SQLite creates the files beside the store when it first reads.
      await first.exec('PRAGMA schema_version');
      await first.exec(`PRAGMA busy_timeout = ${limits.maxStallMs}`);
      return new SqliteConnections(path, lock, first, limits, readers);
    } catch (error) {
      await lock.close();
      throw error;
    }
  }

  /**
   * Takes a turn for a statement or a transaction of a module.
   *
   * @param origin where the module takes it, for the log
   * @param kept a connection that the module has kept
   * @throws StoreUnavailableError when no turn is free in time, or the store is not the same file
   */
  async take(access: 'read' | 'write', origin: Error, kept?: SqliteConnection): Promise<Turn> {
    const turns = access === 'read' ? this.moduleReads : this.writes;
    return await this.begin(turns, 'module', origin, kept);
  }

  private createPool(turns: Turns, Session: typeof SqliteSession): SessionPool {
    const acquire = async (): Promise<PooledSession> =>
      new Session(await this.begin(turns, 'batch'), this);
    return { size: turns.capacity, acquire };
  }

  private async begin(
    turns: Turns,
    work: Work,
    origin?: Error,
    kept?: SqliteConnection,
  ): Promise<Turn> {
    if (this.isClosed) throw new StoreUnavailableError(new Error('The store is closed'));
    const endTurn = await turns.take(work, origin);
    try {
      const connection = kept ?? this.idle[work].pop() ?? (await this.openConnection());
      const end = async (nextUse: NextUse): Promise<void> => {
        if (nextUse === 'shared') this.idle[work].push(connection);
        if (nextUse === 'closed') await connection.close();
        if (turns === this.writes) await this.endWriting();
        endTurn();
        if (turns === this.writes && this.files.logBytes >= this.logLimit) void this.emptyLog();
      };
      return { connection, end };
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  private async endWriting(): Promise<void> {
    this.replacedRows.endTurn();
    if (this.files.countLogPages() >= MAX_LOG_PAGES) await this.checkpoint(COPY_LOG);
  }

  /**
   * Copies the write-ahead log into the store while this program does not write. If SQLite has lost
   * its locks, another process may do the same at the same time, and then remove the log. That does
   * no harm as long as both copy the same pages, so the program checks its locks after each commit
   * and each copy.
   *
   * @returns whether everything is done that `sql` asks for
   */
  private async checkpoint(sql: string): Promise<boolean> {
    // If the disk fails, the log grows until the next attempt.
    const [done] = await this.first.all<{ busy: number }>(sql).catch(() => []);
    this.files.exitUnlessLocked();
    return done?.busy === 0;
  }

  private async openConnection(): Promise<SqliteConnection> {
    this.files.assertSame();
    const connection = await SqliteConnection.open(this.path, setUp(this.limits));
    try {
      this.files.assertSame();
      return connection;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Empties the write-ahead log when no module reads and this program does not write. */
  private async emptyLog(): Promise<void> {
    this.logLimit = Infinity;
    const origin = new Error('The write-ahead log is emptied');
    const { maxPauseMs, maxStallMs } = this.limits;
    const reads = Array.from({ length: this.moduleReads.capacity }, () =>
      this.moduleReads.take('module', origin, maxPauseMs),
    );
    const taken = await Promise.allSettled(reads);
    // A transaction that has the turn to write may itself wait for a read.
    taken.push(...(await Promise.allSettled([this.writes.take('batch', origin, maxStallMs)])));
    const areTaken = taken.every(({ status }) => status === 'fulfilled');
    const isEmpty = areTaken && (await this.checkpoint(EMPTY_LOG));
    // If some reader goes on, here or in another process, the log must grow before the next attempt.
    this.logLimit = isEmpty ? MAX_LOG_BYTES : this.files.logBytes + MAX_LOG_BYTES;
    for (const turn of taken) if (turn.status === 'fulfilled') turn.value();
  }

  /** Closes the store once all statements and transactions have ended that began before. */
  async close(): Promise<void> {
    this.isClosed = true;
    const { writes, rowReads, pageReads, moduleReads } = this;
    await Promise.all([writes, rowReads, pageReads, moduleReads].map(takeAll));
    this.files.exitUnlessLocked();
    const { batch, module } = this.idle;
    for (const connection of [...batch, ...module, this.first]) await connection.close();
    this.files.close();
    await this.lock.close();
  }
}

async function takeAll(turns: Turns): Promise<void> {
  await Promise.all(Array.from({ length: turns.capacity }, () => takeAtLast(turns)));
}

/** Takes a turn, however long it has to wait. */
async function takeAtLast(turns: Turns): Promise<void> {
  await turns.take('module').catch(() => takeAtLast(turns));
}

/** No statement of a batch has the keyword REPLACE, or changes the schema. */
const WRITE_OF_BATCH = { verb: '', mayReplace: false };

/** Statements on one connection to a SQLite database. */
class SqliteSession extends PooledSqlSession {
  protected readonly connection: SqliteConnection;

  constructor(
    private readonly turn: Turn,
    protected readonly connections: SqliteConnections,
  ) {
    // After a failed BEGIN, the statements behind it would commit one by one.
    super('BEGIN IMMEDIATE', false);
    this.connection = turn.connection;
  }

  async query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return await this.connections.replacedRows.write(this.connection, WRITE_OF_BATCH, () =>
      this.connection.all<Row>(text, parameters),
    );
  }

  protected async control(sql: string): Promise<void> {
    if (sql !== 'ROLLBACK') await this.connection.exec(sql);
    // A trigger may have rolled back already.
    else if (!(await this.connection.rollBack())) throw new Error('The transaction is still open');
  }

  override assertSameStore(): void {
    this.connections.files.assertSame();
  }

  async release(): Promise<void> {
    // Nobody may write as a part of a transaction that a batch has left open.
    const isClean = !this.isBroken || (await this.connection.rollBack());
    await this.turn.end(isClean ? 'shared' : 'closed');
  }
}

/** A session that only reads. It aborts a statement whose requests have been answered 503. */
class ReadingSession extends SqliteSession {
  override async query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const { waitMs } = this.connections.limits;
    // More than once, since an interrupt has no effect before the statement has begun.
    const timer = setInterval(() => this.connection.interrupt(), waitMs);
    try {
      return await this.connection.all<Row>(text, parameters);
    } finally {
      clearInterval(timer);
    }
  }

  override assertSameStore(): void {
    this.connections.files.assertSameUnlessFresh();
  }
}
