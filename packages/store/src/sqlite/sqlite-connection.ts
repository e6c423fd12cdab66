import type { Database, Statement } from 'sqlite3';
import { DatabaseStartError } from '../errors/store.errors.js';
import { getErrorCode } from '../engine/driver-errors.js';

/** How many statements stay prepared. */
const MAX_PREPARED = 100;

/** The outcome of a statement without rows. */
interface SqliteChange {
  /** The rowid of the row that the last INSERT on the connection has added. */
  readonly lastID: number;
  /** How many rows the last INSERT, UPDATE or DELETE on the connection has changed. */
  readonly changes: number;
}

/** A statement, which the driver may still be compiling. */
interface PreparedStatement {
  readonly statement: Statement;
  /** Rejects if the SQL does not compile. */
  readonly compiled: Promise<void>;
}

type Callback<Result> = (error: Error | null, result: Result) => void;

/**
 * One handle on a SQLite database. Its statements run one after another, each on one of the four
 * threads that Node has for files and databases.
 *
 * @example
 * ```ts
 * function countPlants(file: SqliteConnection): Promise<{ count: number }[]> {
 *   return file.all('SELECT count(*) AS count FROM plants');
 * }
 * ```
 */
export class SqliteConnection {
  /** The prepared statements: the least recently used one is the first. */
  private readonly statements = new Map<string, PreparedStatement>();
  private isClosing = false;

  private constructor(readonly database: Database) {}

  /**
   * Opens a database.
   *
   * @param path the path of a file, or a URL with parameters of SQLite
   * @param setUp the statements to execute first
   * @param access `read` and `write` open an existing file; `create` also makes a missing one
   * @throws DatabaseStartError when the driver cannot be loaded
   */
  static async open(
    path: string | URL,
    setUp = '',
    access: 'read' | 'write' | 'create' = 'write',
  ): Promise<SqliteConnection> {
    const sqlite3 = await loadDriver();
    const { OPEN_READONLY, OPEN_READWRITE, OPEN_CREATE, OPEN_URI, OPEN_FULLMUTEX } = sqlite3;
    const accessFlags = {
      read: OPEN_READONLY,
      write: OPEN_READWRITE,
      create: OPEN_READWRITE | OPEN_CREATE,
    }[access];
    const uriFlag = path instanceof URL ? OPEN_URI : 0;
    const flags = accessFlags | uriFlag | OPEN_FULLMUTEX;
    const database = await new Promise<Database>((resolve, reject) => {
      const opened: Database = new sqlite3.Database(String(path), flags, (error) =>
        error === null ? resolve(opened) : reject(error),
      );
    });
    // Otherwise a second statement would hold a thread while it waits for the first.
    database.serialize();
    const connection = new SqliteConnection(database);
    try {
      await connection.exec(setUp);
    } catch (error) {
      await connection.close();
      throw error;
    }
    return connection;
  }

  exec(sql: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.database.exec(sql, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /**
   * Rolls back the open transaction, if any.
   *
   * @returns true if no transaction is open now; otherwise the connection must be closed
   */
  async rollBack(): Promise<boolean> {
    try {
      await this.exec('ROLLBACK');
      return true;
    } catch (error) {
      // This is the code if no transaction was open, or if SQLite has rolled it back by itself.
      return getErrorCode(error) === 'SQLITE_ERROR';
    }
  }

  /** Executes a statement to its end, with its commit, and resolves with its rows. */
  all<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.execute<Row[]>(sql, parameters, (statement, end) => {
      statement.all<Row>(parameters, end);
    });
  }

  /**
   * Executes an EXPLAIN. It stays in progress after its last row, until its statement is reset. Until
   * then no transaction of the connection could be committed.
   */
  explain<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    return this.execute<Row[]>(sql, parameters, (statement, end) => {
      statement.all<Row>(parameters, (error, rows) => statement.reset(() => end(error, rows)));
    });
  }

  /**
   * Executes a statement that returns no rows. A statement that returns rows would stay in progress
   * at its first row.
   */
  run(sql: string, parameters: readonly unknown[] = []): Promise<SqliteChange> {
    return this.execute<SqliteChange>(sql, parameters, (statement, end) => {
      statement.run(parameters, function (error) {
        end(error, this);
      });
    });
  }

  private execute<Result>(
    sql: string,
    parameters: readonly unknown[],
    call: (statement: Statement, end: Callback<Result>) => void,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const { statement, compiled } = this.prepare(sql, parameters);
      // The driver drops the calls of a statement that does not compile, without their callbacks.
      compiled.catch(reject);
      call(statement, (error, result) => {
        if (error === null) {
          resolve(result);
        } else {
          // A statement that did not get a lock stays in progress until its reset. Until then no
          // transaction of the connection could be committed.
          statement.reset(() => reject(error));
        }
      });
    });
  }

  /** Returns a statement from the cache, since compiling it is a separate step on a thread. */
  private prepare(sql: string, parameters: readonly unknown[]): PreparedStatement {
    // A statement that is executed without parameters would keep the parameters of its last execution.
    // So such an execution has a statement of its own. The ";" only makes the key different.
    const cacheKey = parameters.length === 0 ? `;${sql}` : sql;
    const cached = this.statements.get(cacheKey);
    if (cached !== undefined) {
      // Adding it again makes it the most recently used one.
      this.statements.delete(cacheKey);
      this.statements.set(cacheKey, cached);
      return cached;
    }
    let statement!: Statement;
    const compiled = new Promise<void>((resolve, reject) => {
      statement = this.database.prepare(sql, (error: Error | null) => {
        if (error === null) {
          resolve();
        } else {
          this.statements.delete(cacheKey);
          reject(error);
        }
      });
    });
    const prepared = { statement, compiled };
    this.statements.set(cacheKey, prepared);
    if (this.statements.size > MAX_PREPARED) this.finalizeOldest();
    return prepared;
  }

  /** Finalizes the least recently used statement. The driver first executes the calls it still has. */
  private finalizeOldest(): void {
    const [oldest] = this.statements;
    if (oldest === undefined) return;
    const [cacheKey, { statement }] = oldest;
    this.statements.delete(cacheKey);
    statement.finalize();
  }

  /** Aborts the running statement, if any. */
  interrupt(): void {
    // The driver throws while it closes a database.
    if (!this.isClosing) this.database.interrupt();
  }

  async close(): Promise<void> {
    this.isClosing = true;
    // SQLite does not close a database that has prepared statements. The driver finalizes them first.
    // Nothing waits for the callbacks of finalize(): a statement that does not compile has none.
    for (const { statement } of this.statements.values()) statement.finalize();
    this.statements.clear();
    await new Promise<void>((resolve) => this.database.close(() => resolve()));
  }
}

/** Loads the driver with its binary, which a program on another engine does not need. */
async function loadDriver(): Promise<typeof import('sqlite3')> {
  try {
    return (await import('sqlite3')).default;
  } catch (cause) {
    // Further text lists all paths where the driver has looked for the binary.
    const [reason] = (cause as Error).message.split(/\.? Tried:|\n/);
    throw new DatabaseStartError(
      `The package sqlite3 cannot be loaded: install the packages on this system with npm ci, without --ignore-scripts (${reason})`,
      { cause },
    );
  }
}
