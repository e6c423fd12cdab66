import { realpath } from 'node:fs/promises';
import sqlite3, { type Database } from 'sqlite3';
import { getErrorCode } from '../data-source/driver-errors.js';
import { DatabaseStartError } from '../data-source/store-data-source.js';

/** How long this program waits for another one to release the store, in milliseconds. */
const WAIT_MS = 2_000;

/**
 * The lock of the one program that serves from a SQLite store. It is a transaction on a separate
 * database file beside the store, since the system ends that with the program, however the program
 * ends.
 */
export class SqliteLock {
  private constructor(private readonly database: Database) {}

  /** @throws DatabaseStartError when another program has the lock */
  static async take(path: string): Promise<SqliteLock> {
    // A link to the store is the same store. The file exists by now, even if it is empty.
    const file = await realpath(path);
    const database = await new Promise<Database>((resolve, reject) => {
      const opened: Database = new sqlite3.Database(`${file}-lock`, (error) =>
        error === null ? resolve(opened) : reject(error),
      );
    });
    const lock = new SqliteLock(database);
    try {
      await lock.begin();
      return lock;
    } catch (error) {
      await lock.release();
      if (getErrorCode(error) !== 'SQLITE_BUSY') throw error;
      throw new DatabaseStartError(
        'Another program serves from this store: stop it, or give this one a store of its own',
      );
    }
  }

  private begin(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.database.configure('busyTimeout', WAIT_MS);
      this.database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE', (error) =>
        error === null ? resolve() : reject(error),
      );
    });
  }

  release(): Promise<void> {
    return new Promise((resolve) => this.database.close(() => resolve()));
  }
}
