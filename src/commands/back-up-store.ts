import { link, open, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { CommandError, formatSize } from './command.js';
import { getErrorCode } from '../platform/database/data-source/error-code.js';
import { flush, flushFolder } from '../platform/database/sqlite/flush-files.js';
import { isFileOfStore } from '../platform/database/sqlite/store-files.js';
import { SqliteReader } from './sqlite-reader.js';

/** How often progress is reported, in milliseconds. */
const PROGRESS_INTERVAL_MS = 2_000;

interface BackupOptions {
  readonly access?: 'ro' | 'rw';
  readonly permissionsOf?: string;
}

/**
 * Copies a SQLite store, as of one moment, into a new file. The program may serve from it
 * meanwhile. The copy appears under its name once it is complete, checked and on disk.
 *
 * @param onProgress gets a line of progress
 * @param signal stops the copying
 * @param options.access `ro` for a store that no program serves from
 * @param options.permissionsOf the file whose permissions the copy gets; the store by default
 * @returns the size of the copy in bytes
 * @throws CommandError
 */
export async function backUpStore(
  source: string,
  target: string,
  onProgress: (line: string) => void,
  signal?: AbortSignal,
  { access = 'rw', permissionsOf = source }: BackupOptions = {},
): Promise<number> {
  const store = await SqliteReader.open(source, access);
  const partial = join(dirname(target), `${basename(target)}.${process.pid}.partial`);
  try {
    await assertNewFile(source, target);
    const expected = await readMaxSize(store);
    await assertSpace(dirname(target), expected);
    await createPartial(partial, permissionsOf);
    try {
      await copy(store, partial, expected, onProgress, signal);
      onProgress('checking the copy');
      return await complete(partial, target, signal);
    } finally {
      await rm(partial, { force: true });
    }
  } catch (error) {
    throw signal?.aborted
      ? new CommandError('Stopped: there is no copy')
      : toCommandError(error, source, target);
  } finally {
    await store.close();
  }
}

async function assertNewFile(source: string, target: string): Promise<void> {
  if (isFileOfStore(target, source)) {
    throw new CommandError('The copy would be a file of the store itself: name another');
  }
  const isThere = await stat(target).then(
    () => true,
    () => false,
  );
  if (isThere) throw new CommandError(`${target} exists and is not overwritten: name another file`);
}

/** Reads the greatest size in bytes that the copy may have. */
async function readMaxSize(store: SqliteReader): Promise<number> {
  const [row] = await store.all<{ size: number }>(
    'SELECT page_count * page_size AS size FROM pragma_page_count, pragma_page_size',
  );
  return row?.size ?? 0;
}

/** A copy that fills the disk of the store would stop the service. */
async function assertSpace(folder: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < needed) {
    throw new CommandError(
      `The copy may take ${formatSize(needed)}, and ${resolve(folder)} has less space`,
    );
  }
}

/** Creates the file with the permissions of another one. This user may always write to it. */
async function createPartial(partial: string, permissionsOf: string): Promise<void> {
  const { mode } = await stat(permissionsOf);
  try {
    const file = await open(partial, 'wx', (mode & 0o777) | 0o600);
    await file.close();
  } catch (error) {
    if (getErrorCode(error) !== 'EEXIST') throw error;
    throw new CommandError(`${partial} is left from a command that was killed: delete it first`);
  }
}

async function copy(
  store: SqliteReader,
  partial: string,
  expected: number,
  onProgress: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  const progress = setInterval(() => {
    void stat(partial).then(
      ({ size }) => onProgress(`${Math.min(99, Math.floor((100 * size) / expected))} % copied`),
      () => undefined,
    );
  }, PROGRESS_INTERVAL_MS);
  const interrupt = (): void => store.interrupt();
  signal?.addEventListener('abort', interrupt);
  try {
    signal?.throwIfAborted();
    // A single statement reads a snapshot, even while rows are created.
    await store.all('VACUUM INTO ?', resolve(partial));
  } finally {
    signal?.removeEventListener('abort', interrupt);
    clearInterval(progress);
  }
}

/** Flushes and checks the copy, and gives it its name. Resolves with its size in bytes. */
async function complete(partial: string, target: string, signal?: AbortSignal): Promise<number> {
  await flush(partial);
  const reader = await SqliteReader.open(partial, 'ro');
  const interrupt = (): void => reader.interrupt();
  signal?.addEventListener('abort', interrupt);
  const faults = await reader.findIntegrityFaults().finally(() => reader.close());
  signal?.removeEventListener('abort', interrupt);
  signal?.throwIfAborted();
  if (faults.length > 0) throw new CommandError('The copy is damaged: look at the store and disk');
  // link() never overwrites a file, unlike rename().
  await link(partial, target);
  await rm(partial);
  try {
    await flushFolder(dirname(target));
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  }
  return (await stat(target)).size;
}

function toCommandError(error: unknown, source: string, target: string): unknown {
  const [store, copy] = [resolve(source), resolve(target)];
  const missing = `There is no folder ${dirname(copy)}: create it first`;
  const full = `There is no space for the copy in ${dirname(copy)}`;
  const messages: Record<string, string> = {
    ENOENT: missing,
    ENOTDIR: missing,
    EACCES: `This user may not write to ${dirname(copy)}: name another folder`,
    EROFS: `The file system of ${dirname(copy)} is read-only: name another folder`,
    EEXIST: `A file ${copy} was created meanwhile, and is not overwritten`,
    ENOSPC: full,
    SQLITE_FULL: full,
    SQLITE_CORRUPT: `The store ${store} is damaged: npm run db:check shows where`,
    SQLITE_NOTADB: `${store} is not a SQLite database`,
  };
  const message = messages[getErrorCode(error)];
  return message === undefined ? error : new CommandError(message, { cause: error });
}
