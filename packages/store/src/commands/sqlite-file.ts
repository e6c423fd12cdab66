import { existsSync, realpathSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseStartError } from '../errors/store.errors.js';
import { getErrorCode } from '../engine/driver-errors.js';
import type { Schema } from '../open/open-database.js';
import { SqliteConnection } from '../sqlite/sqlite-connection.js';
import { assertNotMounted, assertWritable } from '../sqlite/store-files.js';
import {
  createForeignStoreError,
  readMigrations,
  type StoreMigrations,
} from './store-migrations.js';

/** The files that SQLite and the program keep beside a store. */
const COMPANIONS = /-(wal|shm|journal|lock)$/;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Opens the file of a store for some work. The program may serve from it at the same time.
 *
 * @param access `read` sees one snapshot and changes nothing; `write` may recover the store after a
 *   crash
 * @returns the result of the work
 * @throws DatabaseStartError when the path has no store that this program made
 * @example
 * ```ts
 * const tables = await useStoreFile('data/store.db', 'read', schema, (file) =>
 *   file.all<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table'`),
 * );
 * ```
 */
export async function useStoreFile<Result>(
  path: string,
  access: 'read' | 'write',
  schema: Schema,
  work: (file: SqliteConnection, migrations: StoreMigrations) => Promise<Result> | Result,
): Promise<Result> {
  const location = resolve(path);
  const file = findFile(location);
  assertNotMounted(file);
  if (!statSync(file).isFile()) {
    throw createForeignStoreError(location, 'it is not an ordinary file');
  }
  // SQLite would leave a log beside a read-only file that the program cannot write to.
  if (access === 'write') await assertWritable(file);
  const url = pathToFileURL(file);
  // Without a log no program has the store open. SQLite would then create a log, even to read.
  const hasLog = ['-wal', '-journal'].some((suffix) => existsSync(file + suffix));
  if (access === 'read' && !hasLog) url.searchParams.set('immutable', '1');
  const begin = access === 'read' ? 'BEGIN' : '';
  const connection = await SqliteConnection.open(url, begin, access);
  // The statement fails, so the command cleans up as after any other failure.
  const interrupt = (): void => connection.interrupt();
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    const migrations = await readMigrations(location, schema, (sql) => connection.all(sql));
    return await work(connection, migrations);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    await connection.close();
  }
}

/** Returns the path of an existing file without symbolic links, beside which SQLite keeps its others. */
function findFile(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    // The user may not be allowed to enter the folder.
    if (getErrorCode(error) !== 'ENOENT') throw error;
    throw new DatabaseStartError(`There is no store at ${path}`);
  }
}

/**
 * Resolves with the first 20 faults of a file; with none if it is sound.
 *
 * @see {@link https://sqlite.org/pragma.html#pragma_integrity_check integrity_check of SQLite}
 * @example
 * ```ts
 * const faults = await useStoreFile('data/store.db', 'read', schema, findIntegrityFaults);
 * ```
 */
export async function findIntegrityFaults(file: SqliteConnection): Promise<string[]> {
  try {
    const rows = await file.all<{ integrity_check: string }>('PRAGMA integrity_check(20)');
    return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
  } catch (error) {
    // SQLite lists damaged pages, but fails at the first row that it cannot read.
    if (error instanceof Error && getErrorCode(error) === 'SQLITE_CORRUPT') return [error.message];
    throw error;
  }
}

/**
 * Measures the pages of a file that are in use, in bytes. A compact copy is about as large.
 *
 * @example
 * ```ts
 * const bytes = await useStoreFile('data/store.db', 'read', schema, measureContents);
 * ```
 */
export async function measureContents(file: SqliteConnection): Promise<number> {
  const [size] = await file.all<{ bytes: number }>(
    `SELECT (page_count - freelist_count) * page_size AS bytes
     FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
  );
  return size?.bytes ?? 0;
}

/**
 * Estimates how many bytes {@link findIntegrityFaults} reads at most: each page, and then for each row
 * a page of each index, which may be in memory already.
 *
 * @example
 * ```ts
 * const bytes = await useStoreFile('data/store.db', 'read', schema, estimateCheck);
 * ```
 */
export async function estimateCheck(file: SqliteConnection): Promise<number> {
  const tables = await file.all<{ name: string; indexes: number }>(
    `SELECT name, (SELECT count(*) FROM pragma_index_list(tables.name)) AS indexes
     FROM sqlite_schema AS tables WHERE type = 'table'`,
  );
  const [page] = await file.all<{ page_size: number }>('PRAGMA page_size');
  let bytes = await measureContents(file);
  for (const { name, indexes } of tables) {
    const rows = await countRows(file, name);
    bytes += rows * indexes * (page?.page_size ?? 0);
  }
  return bytes;
}

/**
 * Counts the rows of a table.
 *
 * @example
 * ```ts
 * const rows = await useStoreFile('data/store.db', 'read', schema, (file) => countRows(file, 'plants'));
 * ```
 */
export async function countRows(file: SqliteConnection, table: string): Promise<number> {
  const name = `"${table.replaceAll('"', '""')}"`;
  const [row] = await file.all<{ rows: number }>(`SELECT count(*) AS rows FROM ${name}`);
  return row?.rows ?? 0;
}

/**
 * Refuses a path that SQLite would use for a file beside a store. SQLite would destroy such a file
 * together with the store.
 *
 * @throws DatabaseStartError when a path ends like a file beside a store
 * @example
 * ```ts
 * assertNoCompanion('backups/monday.db');
 * ```
 */
export function assertNoCompanion(path: string): void {
  if (COMPANIONS.test(path)) {
    throw new DatabaseStartError(
      `${path} would be a file of another store: choose a name that does not end with -wal, -shm, -journal or -lock`,
    );
  }
}
