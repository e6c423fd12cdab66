import sqlite3 from 'sqlite3';
import type { DataSourceOptions } from 'typeorm';
import type { SqliteUrl } from '../../config/database-url.js';

/** How long one statement waits for a lock that another process holds, in milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;

export function createSqliteOptions({ path }: SqliteUrl): DataSourceOptions {
  return {
    type: 'sqlite',
    database: path,
    driver: createQuietSqlite3(),
    busyTimeout: BUSY_TIMEOUT_MS,
  };
}

/**
 * Prevents TypeORM from enabling the driver's verbose mode, which captures a stack at every call.
 */
function createQuietSqlite3(): typeof sqlite3 {
  return Object.assign(Object.create(sqlite3) as typeof sqlite3, { verbose: () => sqlite3 });
}
