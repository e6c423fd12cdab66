import sqlite3 from 'sqlite3';
import type { DataSourceOptions } from 'typeorm';
import type { SqliteUrl } from '../../config/database-url.js';

/** How long one statement waits for a lock that another process holds, in milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;

export function sqliteOptions({ path }: SqliteUrl): DataSourceOptions {
  return {
    type: 'sqlite',
    database: path,
    driver: quietSqlite3(),
    busyTimeout: BUSY_TIMEOUT_MS,
  };
}

/** TypeORM turns on the driver's verbose mode, which captures a stack trace at every call. */
function quietSqlite3(): typeof sqlite3 {
  return Object.assign(Object.create(sqlite3) as typeof sqlite3, { verbose: () => sqlite3 });
}
