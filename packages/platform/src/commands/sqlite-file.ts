import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import sqlite3 from 'sqlite3';
import { SqliteConnection } from '../database/sqlite/sqlite-connection.js';
import { CommandError } from './command.js';

/** The files that SQLite and the program keep beside a store. */
const COMPANIONS = /-(wal|shm|journal|lock)$/;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Opens the file of a store for some work. The program may serve from it meanwhile.
 *
 * @param mode `ro` changes nothing; `rw` may recover the store after a crash
 * @throws CommandError when there is no file
 */
export async function useFile<Result>(
  path: string,
  mode: 'ro' | 'rw',
  work: (file: SqliteConnection) => Promise<Result>,
): Promise<Result> {
  if (!existsSync(path)) throw new CommandError(`There is no store at ${resolve(path)}`);
  const file = realpathSync(path);
  const url = pathToFileURL(file);
  // Without a log no program has the store open. SQLite would then create a log, even to read.
  const hasLog = ['-wal', '-journal'].some((suffix) => existsSync(file + suffix));
  if (mode === 'ro' && !hasLog) url.searchParams.set('immutable', '1');
  const flags = mode === 'ro' ? sqlite3.OPEN_READONLY : sqlite3.OPEN_READWRITE;
  const connection = await SqliteConnection.open(url.href, '', flags | sqlite3.OPEN_URI);
  // The statement fails, so the command cleans up as after any other failure.
  const interrupt = (): void => connection.interrupt();
  for (const signal of SIGNALS) process.once(signal, interrupt);
  try {
    return await work(connection);
  } finally {
    for (const signal of SIGNALS) process.off(signal, interrupt);
    await connection.close();
  }
}

/** Resolves with the first 20 faults of a file; with none if it is sound. */
export async function findIntegrityFaults(file: SqliteConnection): Promise<string[]> {
  const rows = await file.all<{ integrity_check: string }>('PRAGMA integrity_check(20)');
  return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok');
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
