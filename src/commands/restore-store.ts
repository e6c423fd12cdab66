import { link, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { getErrorCode } from '../platform/database/data-source/error-code.js';
import { DatabaseStartError } from '../platform/database/data-source/store-data-source.js';
import { flushFolder, flushFolders } from '../platform/database/sqlite/flush-files.js';
import { SqliteLock } from '../platform/database/sqlite/sqlite-process-lock.js';
import { assertWritable } from '../platform/database/sqlite/assert-writable.js';
import { backUpStore } from './back-up-store.js';
import { checkStore } from './check-store.js';
import { CommandError } from './command.js';
import { SqliteReader } from './sqlite-reader.js';

/** The files beside that of a store. They would damage any other database file. */
const LOGS = ['-wal', '-shm', '-journal'];

/**
 * Replaces a SQLite store by a copy, and keeps the old store under another name. Nothing is moved
 * before the copy is complete, checked and on disk. A sound store is replaced in one step, so that
 * a store is there at any moment.
 *
 * @param copy a file that db:backup made, or any other store
 * @param path the path of the store, or of a link to the store; the store need not exist
 * @param onProgress gets a line of progress
 * @param signal stops the copying; nothing has been moved then
 * @returns the path under which the former store is kept; undefined where there was none
 * @throws CommandError, DatabaseStartError
 */
export async function restoreStore(
  copy: string,
  path: string,
  onProgress: (line: string) => void,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const file = await realpath(path).catch(() => path);
  // Messages name the path that the operator has given.
  const store = file === resolve(path) ? path : file;
  onProgress(`checking ${copy}`);
  const { faults } = await checkStore(copy);
  if (faults.length > 0) throw new CommandError(`${copy} is not restored:\n${faults.join('\n')}`);
  await assertWritable(store);
  const lock = await lockStore(store);
  const restored = `${store}.${process.pid}.restored`;
  try {
    await assertUnused(store);
    const owner = (await exists(store)) ? store : copy;
    await backUpStore(copy, restored, onProgress, signal, { access: 'ro', permissionsOf: owner });
    const kept = await keepFormerStore(store);
    await rename(restored, store);
    await flushFolders(store);
    return kept;
  } finally {
    for (const suffix of ['', ...LOGS]) await rm(restored + suffix, { force: true });
    await lock.release();
  }
}

async function lockStore(store: string): Promise<SqliteLock> {
  try {
    return await SqliteLock.take(store);
  } catch (error) {
    if (!(error instanceof DatabaseStartError)) throw error;
    throw new CommandError(`A program serves from ${resolve(store)}: stop it first`);
  }
}

/**
 * Version 1.0 of the program takes no lock, and neither do other programs that read the file.
 *
 * @throws CommandError when another program has the store open
 */
async function assertUnused(store: string): Promise<void> {
  if (!(await exists(store))) return;
  const reader = await SqliteReader.open(store, 'rw');
  try {
    await reader.all('PRAGMA locking_mode = EXCLUSIVE');
    await reader.all('BEGIN EXCLUSIVE');
  } catch (error) {
    // A damaged store may be replaced.
    if (getErrorCode(error) !== 'SQLITE_BUSY') return;
    throw new CommandError(`Another program has ${resolve(store)} open: stop it first`);
  } finally {
    await reader.close();
  }
}

/** Links the store under another name, and renames its logs. A sound store has no logs. */
async function keepFormerStore(store: string): Promise<string | undefined> {
  const now = new Date().toISOString().replaceAll(':', '-');
  const kept = `${store}.before-${now}`;
  const isThere = await exists(store);
  if (isThere) await link(store, kept);
  for (const suffix of LOGS) {
    if (await exists(store + suffix)) await rename(store + suffix, kept + suffix);
  }
  await flushFolder(dirname(resolve(store)));
  return isThere ? kept : undefined;
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
