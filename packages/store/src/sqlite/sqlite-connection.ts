import type { Database, Statement } from 'sqlite3';
import { DatabaseStartError } from '../errors/store.errors.js';
import { getErrorCode } from '../engine/driver-errors.js';

/** How many statements stay prepared: the most recently used. */
const MAX_PREPARED = 100;

/** The outcome of a statement without rows. */
interface SqliteChange {
  /** The rowid of the row that was inserted last on the connection. */
  readonly lastID: number;
  /** The number of rows. */
  readonly changes: number;
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
  private readonly statements = new Map<string, Statement>();
  private isClosing = false;

  private constructor(readonly database: Database) {}

  /**
   * Opens a database.
   *
   * @param setUp the first statements
   * @param path or a URL with parameters of SQLite
   * @param access by default for writing to an existing file
   * @throws DatabaseStartError when the driver cannot be loaded
   */
  static async open(
    path: string | URL,
    setUp = '',
    access: 'read' | 'write' | 'create' = 'write',
  ): Promise<SqliteConnection> {
    const sqlite3 = await loadDriver();
    const { OPEN_READONLY, OPEN_READWRITE, OPEN_CREATE, OPEN_URI, OPEN_FULLMUTEX } = sqlite3;
    const flags = {
      read: OPEN_READONLY,
      write: OPEN_READWRITE,
      create: OPEN_READWRITE | OPEN_CREATE,
    }[access];
    const mode = flags | OPEN_FULLMUTEX | (path instanceof URL ? OPEN_URI : 0);
    const database = await new Promise<Database>((resolve, reject) => {
      const opened: Database = new sqlite3.Database(String(path), mode, (error) =>
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
   * Rolls back the transaction that is open, if any.
   *
   * @returns whether none is open afterwards; otherwise the connection must be closed
   */
  async rollBack(): Promise<boolean> {
    return await this.exec('ROLLBACK').then(
      () => true,
      // With this code SQLite reports that no transaction was open, or that it has rolled back already.
      (error: unknown) => getErrorCode(error) === 'SQLITE_ERROR',
    );
  }

  /** Executes a statement to its end, with its commit, and resolves with its rows. */
  all<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.execute<Row[]>(sql, parameters, (statement, end) => {
      statement.all<Row>(parameters, end);
    });
  }

  /**
   * Executes an EXPLAIN. SQLite ends it only when its statement is reset. Until then it would commit
   * nothing of the connection.
   */
  explain<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    return this.execute<Row[]>(sql, parameters, (statement, end) => {
      statement.all<Row>(parameters, (error, rows) => statement.reset(() => end(error, rows)));
    });
  }

  /**
   * Executes a statement that returns no rows; another one would stay in progress at its first row.
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
      const statement = this.prepare(sql, parameters, reject);
      call(statement, (error, result) => {
        if (error === null) resolve(result);
        // A statement that did not get a lock stays in progress until its reset. Until then no
        // transaction of the connection could be committed.
        else statement.reset(() => reject(error));
      });
    });
  }

  /**
   * Returns a prepared statement from the cache, since preparing it is a separate step on a thread.
   *
   * @param onError gets the error if the SQL does not compile; the callback of the later `all()` or
   *   `run()` is then not called
   */
  private prepare(
    sql: string,
    parameters: readonly unknown[],
    onError: (error: Error) => void,
  ): Statement {
    // Without parameters, the driver would keep the parameters of the last execution.
    const cacheKey = parameters.length === 0 ? `;${sql}` : sql;
    const known = this.statements.get(cacheKey);
    this.statements.delete(cacheKey);
    const statement =
      known ??
      this.database.prepare(sql, (error: Error | null) => {
        if (error === null) return;
        this.statements.delete(cacheKey);
        onError(error);
      });
    this.statements.set(cacheKey, statement);
    if (this.statements.size > MAX_PREPARED) this.finalizeOldest();
    return statement;
  }

  private finalizeOldest(): void {
    for (const [sql, statement] of this.statements) {
      this.statements.delete(sql);
      statement.finalize();
      return;
    }
  }

  /** Aborts the running statement, if any. */
  interrupt(): void {
    // The driver throws while it closes a database.
    if (!this.isClosing) this.database.interrupt();
  }

  async close(): Promise<void> {
    this.isClosing = true;
    // SQLite does not close a database that has prepared statements.
    for (const statement of this.statements.values()) {
      await new Promise<void>((resolve) => statement.finalize(() => resolve()));
    }
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
