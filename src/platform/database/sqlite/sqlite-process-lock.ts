import { realpath } from 'node:fs/promises';
import sqlite3 from 'sqlite3';
import { getErrorCode } from '../data-source/driver-errors.js';
import { DatabaseStartError } from '../data-source/store-data-source.js';
import { SqliteConnection } from './sqlite-connection.js';

/** How long this program waits for another one to release the store, in milliseconds. */
const WAIT_MS = 2_000;

const LOCK = `PRAGMA busy_timeout = ${WAIT_MS}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`;

/**
 * Locks a SQLite store for this program. The lock is a transaction on a separate database file
 * beside the store, since the system ends that with the program, however the program ends.
 *
 * @param path of the store, which exists by now, even if it is empty
 * @returns the connection that has the lock
 * @throws DatabaseStartError when another program has the lock
 */
export async function lockStore(path: string): Promise<SqliteConnection> {
  // A link to the store is the same store.
  const file = `${await realpath(path)}-lock`;
  try {
    return await SqliteConnection.open(file, LOCK, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE);
  } catch (error) {
    if (getErrorCode(error) !== 'SQLITE_BUSY') throw error;
    throw new DatabaseStartError(
      'Another program serves from this store: stop it, or give this one a store of its own',
    );
  }
}
