import { realpath } from 'node:fs/promises';
import sqlite3, { type Database } from 'sqlite3';
import { getErrorCode } from '../data-source/driver-errors.js';
import { DatabaseStartError } from '../data-source/store-data-source.js';

/** How long this program waits for another one to release the store, in milliseconds. */
const WAIT_MS = 2_000;

/**
 * Locks a SQLite store for this program. The lock is a transaction on a separate database file
 * beside the store, since the system ends that with the program, however the program ends.
 *
 * @param path of the store, which exists by now, even if it is empty
 * @returns a function that ends the lock
 * @throws DatabaseStartError when another program has the lock
 */
export async function lockStore(path: string): Promise<() => Promise<void>> {
  // A link to the store is the same store.
  const file = await realpath(path);
  const database = await new Promise<Database>((resolve, reject) => {
    const opened: Database = new sqlite3.Database(`${file}-lock`, (error) =>
      error === null ? resolve(opened) : reject(error),
    );
  });
  const unlock = (): Promise<void> => new Promise((resolve) => database.close(() => resolve()));
  try {
    database.configure('busyTimeout', WAIT_MS);
    await new Promise<void>((resolve, reject) => {
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE', (error) =>
        error === null ? resolve() : reject(error),
      );
    });
    return unlock;
  } catch (error) {
    await unlock();
    if (getErrorCode(error) !== 'SQLITE_BUSY') throw error;
    throw new DatabaseStartError(
      'Another program serves from this store: stop it, or give this one a store of its own',
    );
  }
}
