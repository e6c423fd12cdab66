import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import { CommandError } from './command.js';

/** The files that SQLite and the program keep beside a store. */
const COMPANIONS = /-(wal|shm|journal|lock)$/;

/** A connection of a command to the file of a store, from which the program may serve meanwhile. */
export class SqliteReader {
  private constructor(private readonly database: sqlite3.Database) {
    // The statement fails, so the command cleans up as after any other failure.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.once(signal, () => database.interrupt());
    }
  }

  /**
   * @param mode `ro` changes nothing; `rw` may recover the store after a crash
   * @throws CommandError when there is no file
   */
  static async open(path: string, mode: 'ro' | 'rw'): Promise<SqliteReader> {
    if (!existsSync(path)) throw new CommandError(`There is no store at ${resolve(path)}`);
    const file = realpathSync(path);
    const url = pathToFileURL(file);
    // Without a log no program has the store open. SQLite would then create a log, even to read.
    const hasLog = ['-wal', '-journal'].some((suffix) => existsSync(file + suffix));
    if (mode === 'ro' && !hasLog) url.searchParams.set('immutable', '1');
    const flags = mode === 'ro' ? sqlite3.OPEN_READONLY : sqlite3.OPEN_READWRITE;
    return await new Promise((open, reject) => {
      const database = new sqlite3.Database(url.href, flags | sqlite3.OPEN_URI, (error) =>
        error === null ? open(new SqliteReader(database)) : reject(error),
      );
    });
  }

  all<Row>(sql: string, ...parameters: unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      this.database.all<Row>(sql, parameters, (error, rows) =>
        error === null ? resolve(rows) : reject(error),
      );
    });
  }

  /** Resolves with the first 20 faults of the file; with none if it is sound. */
  async findIntegrityFaults(): Promise<string[]> {
    const rows = await this.all<{ integrity_check: string }>('PRAGMA integrity_check(20)');
    return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.database.close(() => resolve()));
  }
}

/**
 * SQLite would take the file for its own, and destroy it together with the store.
 *
 * @throws CommandError when a path is that of a file beside a store
 */
export function assertNoCompanion(path: string): void {
  if (COMPANIONS.test(path)) {
    throw new CommandError(
      `${path} would be a file of another store: choose a name that does not end with -wal, -shm, -journal or -lock`,
    );
  }
}
