import { Logger } from '@nestjs/common';
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { access, constants, mkdir, open, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { getErrorCode } from '../engine/driver-errors.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import { StoreUnavailableError } from '../errors/store.errors.js';
import type { TimeLimits } from '../engine/time-limits.js';
import { HeldLocks } from './held-locks.js';
import { readMountPoints } from './mounts.js';
import { SqliteConnection } from './sqlite-connection.js';

// The system drops all locks of a process on a file when the process closes any descriptor of it
// (https://www.sqlite.org/howtocorrupt.html, section 2.2). So nothing here opens a file of a store
// that SQLite may have open in this process.

/** Lists the files of a store: SQLite's own, and the lock of the program. */
function listFiles(realPath: string): string[] {
  return ['', '-wal', '-shm', '-lock'].map((suffix) => realPath + suffix);
}

/**
 * Creates the folder and the file of a store if they are missing, and checks that this user may
 * write all files of the store. SQLite would open a read-only file without an error, and leave a
 * log beside it that no program can write.
 *
 * @throws DatabaseStartError
 */
export async function assertWritable(path: string): Promise<void> {
  try {
    await makeFolder(dirname(resolve(path)));
    createFile(resolve(path));
    // SQLite keeps its other files beside the file itself, not beside a link to it.
    const realPath = await realpath(path);
    assertNotMounted(realPath);
    for (const file of listFiles(realPath).filter((one) => existsSync(one))) {
      // SQLite would wait for ever for the other end of a named pipe.
      if (!(await stat(file)).isFile()) throw new Error(`${file} is not an ordinary file`);
      await access(file, constants.W_OK | constants.R_OK);
    }
    // Under each name, SQLite and this program would keep a log and a lock of their own.
    const { nlink } = await stat(realPath);
    if (nlink > 1) {
      throw new Error(
        `${realPath} has ${nlink} names (hard links): keep one, or use a symbolic link`,
      );
    }
    await access(dirname(realPath), constants.W_OK | constants.X_OK);
  } catch (cause) {
    if (cause instanceof DatabaseStartError) throw cause;
    const { message } = cause as Error;
    throw new DatabaseStartError(
      `The user with the id ${process.getuid?.()} cannot use the store: ${message}`,
      { cause },
    );
  }
}

/**
 * Checks that no file of a store is mounted alone, as a container may mount it. Its log or its lock
 * would then lie in another folder, which may be removed with the container, or which another
 * program on the same file does not see.
 *
 * @param realPath of the store, without symbolic links
 * @throws DatabaseStartError
 */
export function assertNotMounted(realPath: string): void {
  const mountPoints = readMountPoints();
  for (const file of listFiles(realPath)) {
    if (!mountPoints.has(file)) continue;
    throw new DatabaseStartError(
      `${file} is itself a mount point, so the files of the store would lie in different folders: mount a folder, and name a file in it`,
    );
  }
}

/**
 * Creates an empty file, which is an empty store, unless the file exists. Without it, two links to
 * one new store would seem to be two. Synchronous, so that nothing else in this process opens the
 * file before it is closed.
 */
function createFile(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, 'a'));
}

/**
 * Creates a folder and its parents. The recursive mkdir() of Node never ends if nothing can be
 * created in an existing parent, as in /proc.
 */
async function makeFolder(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  await makeFolder(dirname(folder));
  await mkdir(folder).catch((error: unknown) => {
    // Another program may have created it in the meantime.
    if (getErrorCode(error) !== 'EEXIST') throw error;
  });
}

/** With its journal in memory, a program that is killed leaves no journal of the lock. */
const LOCK = 'PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE';

/**
 * Locks a SQLite store for this program. The lock is a transaction on a separate database file
 * beside the store, since the system ends that with the program, however the program ends.
 *
 * @param path of the store, which exists by now, even if it is empty
 * @returns the connection that has the lock
 * @throws DatabaseStartError when another program has the lock
 */
export async function lockStore(
  path: string,
  { fileLockMs }: TimeLimits,
): Promise<SqliteConnection> {
  // A link to the store is the same store.
  const file = `${await realpath(path)}-lock`;
  try {
    return await SqliteConnection.open(
      file,
      `PRAGMA busy_timeout = ${fileLockMs}; ${LOCK}`,
      'create',
    );
  } catch (error) {
    if (getErrorCode(error) !== 'SQLITE_BUSY') throw error;
    throw new DatabaseStartError(
      'Another program serves from this store: stop it, or give this one a store of its own',
    );
  }
}

/** The user may enter the folder but not read it, or its file system cannot flush folders. */
const NOT_POSSIBLE = new Set(['EACCES', 'EPERM', 'EINVAL']);

/**
 * Flushes the folder of a file and all folders above, so that their names are durable. Otherwise a
 * loss of power could remove a new name with everything that was flushed under it.
 *
 * @param path of an existing file
 */
export async function flushFolders(path: string): Promise<void> {
  const file = await realpath(path);
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    await flushFolder(folder);
    if (folder === dirname(folder)) return;
  }
}

/**
 * Flushes a file to disk. The name of a new file is on disk after {@link flushFolder}.
 *
 * @throws Error of the system, such as ENOSPC
 * @example
 * ```ts
 * await flush('backups/monday.db');
 * await flushFolder('backups');
 * ```
 */
export async function flush(path: string): Promise<void> {
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}

/**
 * Flushes the names in a folder to disk, where that is possible.
 *
 * @throws Error of the system, such as ENOENT
 * @example
 * ```ts
 * await rename('backups/monday.db.partial', 'backups/monday.db');
 * await flushFolder('backups');
 * ```
 */
export async function flushFolder(folder: string): Promise<void> {
  try {
    await flush(folder);
  } catch (error) {
    if (!NOT_POSSIBLE.has(getErrorCode(error))) throw error;
  }
}

const STAT_OPTIONS = { bigint: true, throwIfNoEntry: false } as const;

/** How long a check of the files is valid for reads, in milliseconds. */
const FRESH_MS = 50;

/** Where the shared memory has the number of pages (`mxFrame`, https://www.sqlite.org/walformat.html). */
const LOG_PAGES_OFFSET = 16;

/**
 * The files of an open store. SQLite continues to write to a file that was removed, moved or
 * replaced, and reports success, but those rows are lost. It also continues without its locks.
 */
export class StoreFiles {
  private readonly logger = new Logger('Store');
  private readonly paths: readonly string[];
  private readonly identity: string;
  private readonly locks: HeldLocks;
  private readonly sharedMemory: number;
  private readonly logPages = new Uint32Array(1);
  private seenAt = 0;
  /** The size of the write-ahead log at the last check. */
  logBytes = 0;

  /** @param path the path of a store that is locked, and open in WAL mode */
  constructor(path: string) {
    // SQLite keeps its other files beside the file itself, not beside a link to it.
    const realPath = realpathSync(path);
    this.paths = [path, `${realPath}-wal`, `${realPath}-shm`];
    this.identity = this.readIdentity();
    this.locks = new HeldLocks(realPath);
    this.sharedMemory = openSync(`${realPath}-shm`, 'r');
  }

  /**
   * Checks after a commit, before it is acknowledged.
   *
   * @throws StoreUnavailableError when a file is no longer the one that was opened
   */
  assertSame(): void {
    this.exitUnlessLocked();
    if (this.readIdentity() !== this.identity) {
      const reason = 'The file of the store was removed, moved away or replaced';
      throw new StoreUnavailableError(new Error(reason));
    }
    this.seenAt = performance.now();
  }

  /** The same for reads, which lose nothing if a check was made shortly before. */
  assertSameUnlessFresh(): void {
    if (performance.now() - this.seenAt > FRESH_MS) this.assertSame();
  }

  /**
   * Exits at once if a lock is lost: another process may then remove the log while this program
   * writes to it. An orderly end would make it worse, since SQLite closes a store by copying the log
   * into it, and removing the log.
   */
  exitUnlessLocked(): void {
    const lost = this.locks.findLost();
    if (lost === undefined) return;
    this.logger.fatal(
      `Code in this program has closed a file of the store, so the locks of SQLite on ${lost} are lost, and other processes could now remove changes. The program ends at once; everything acknowledged is stored. Copy the store with VACUUM INTO, or with db:backup as a child process`,
    );
    process.exit(1);
  }

  /** Counts the pages in the write-ahead log, whose file does not shrink when they are copied. */
  countLogPages(): number {
    readSync(this.sharedMemory, this.logPages, { position: LOG_PAGES_OFFSET });
    return this.logPages[0] ?? 0;
  }

  /** Must be called when SQLite has closed the store, but not yet the lock of the program. */
  close(): void {
    this.locks.close();
    closeSync(this.sharedMemory);
  }

  /**
   * Synchronous, since the system has the metadata of open files in memory: a call on another
   * thread would take longer.
   */
  private readIdentity(): string {
    const files = this.paths.map((path) => statSync(path, STAT_OPTIONS));
    this.logBytes = Number(files[1]?.size ?? 0);
    return files.map((file) => (file === undefined ? 'none' : `${file.dev}:${file.ino}`)).join();
  }
}
