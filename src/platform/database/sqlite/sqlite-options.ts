import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite3 from 'sqlite3';
import type { DataSourceOptions } from 'typeorm';
import type { SqliteUrl } from '../../config/database-url.js';

/** How long one statement waits for a lock that another process holds, in milliseconds. */
const BUSY_TIMEOUT_MS = 2_000;

/** The members of `extra` in the options of a SQLite data source. */
export interface SqliteExtra {
  /** The folder of a store that is removed when it is closed. */
  readonly temporaryFolder: string | undefined;
}

/** Makes the options. `:memory:` is a file too: each connection to memory would be another store. */
export function createSqliteOptions({ path }: SqliteUrl): DataSourceOptions {
  const folder = path === ':memory:' ? mkdtempSync(join(tmpdir(), 'plant-store-')) : undefined;
  const extra: SqliteExtra = { temporaryFolder: folder };
  return {
    type: 'sqlite',
    database: folder === undefined ? path : join(folder, 'plants.db'),
    driver: createQuietSqlite3(),
    busyTimeout: BUSY_TIMEOUT_MS,
    extra,
  };
}

/**
 * Prevents TypeORM from enabling the driver's verbose mode, which captures a stack at every call.
 */
function createQuietSqlite3(): typeof sqlite3 {
  return Object.assign(Object.create(sqlite3) as typeof sqlite3, { verbose: () => sqlite3 });
}
