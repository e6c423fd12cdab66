import { access, constants, mkdir, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import { getErrorCode } from '../data-source/error-code.js';
import { DatabaseStartError } from '../data-source/store-data-source.js';

/** The files of a store and of the lock of its program. */
const SUFFIXES = ['', '-wal', '-shm', '-lock'];

/**
 * Creates the folder of a store, and checks that this user may write all files of the store. SQLite
 * would open a read-only file without an error, and leave a log beside it that nobody can write.
 *
 * @throws DatabaseStartError
 */
export async function assertWritable(path: string): Promise<void> {
  await makeFolder(dirname(resolve(path)));
  // SQLite keeps its other files beside the file itself, not beside a link to it.
  const file = await realpath(path).catch(() => resolve(path));
  await assertMayWrite(dirname(file), constants.W_OK | constants.X_OK);
  for (const suffix of SUFFIXES) {
    await assertMayWrite(file + suffix, constants.W_OK | constants.R_OK);
  }
  if ((await stat(file).catch(() => undefined))?.isDirectory()) {
    throw new DatabaseStartError(`The store cannot be used: ${file} is a folder, and not a file`);
  }
}

/**
 * Creates a folder and its parents. The recursive mkdir() of Node never ends if nothing can be
 * created in an existing parent, as in /proc.
 *
 * @throws DatabaseStartError
 */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder).catch(async (error: unknown) => {
      if (getErrorCode(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
      await makeFolder(dirname(folder));
      await mkdir(folder);
    });
  } catch (error) {
    if (error instanceof DatabaseStartError) throw error;
    if ((await stat(folder).catch(() => undefined))?.isDirectory()) return;
    throw toStartError(`the folder ${folder} cannot be created`, error);
  }
}

async function assertMayWrite(path: string, mode: number): Promise<void> {
  try {
    await access(path, mode);
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT') throw toStartError(`${path} cannot be written`, error);
  }
}

function toStartError(what: string, cause: unknown): DatabaseStartError {
  const reason = REASONS[getErrorCode(cause)] ?? `the system says ${getErrorCode(cause)}`;
  return new DatabaseStartError(
    `The store cannot be used: ${what} by the user ${getUserName()}: ${reason}`,
    { cause },
  );
}

const REASONS: Record<string, string> = {
  EACCES: 'change its owner or its mode, or set DATABASE_URL to another file',
  EPERM: 'the system forbids it, perhaps because it is marked as immutable',
  EROFS: 'the file system is read-only: set DATABASE_URL to a file on another',
  EEXIST: 'there is a file in its place',
  ENOTDIR: 'there is a file in the place of a folder above it',
  ENOENT: 'its file system takes no folders: set DATABASE_URL to a file on another',
  ENOSPC: 'the disk is full',
};

/** In a container, the user may have a number but no name. */
function getUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
