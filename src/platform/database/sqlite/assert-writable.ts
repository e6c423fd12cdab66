import { access, constants, mkdir, open, realpath, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import { getErrorCode } from '../data-source/error-code.js';
import { DatabaseStartError } from '../data-source/store-data-source.js';

/** The files beside that of a store: SQLite's own, and the lock of the program. */
const SUFFIXES = ['-wal', '-shm', '-lock'];

/**
 * Creates the folder and the file of a store if they are missing, and checks that this user may
 * write all files of the store. SQLite would open a read-only file without an error, and leave a
 * log beside it that nobody can write.
 *
 * @throws DatabaseStartError
 */
export async function assertWritable(path: string): Promise<void> {
  try {
    await makeFolder(dirname(resolve(path)));
    // An empty file is an empty store. Without it, two links to one new store would seem to be two.
    const file = await open(resolve(path), 'a+');
    await file.close();
    // SQLite keeps its other files beside the file itself, not beside a link to it.
    const realPath = await realpath(path);
    await access(dirname(realPath), constants.W_OK | constants.X_OK);
    for (const suffix of SUFFIXES) {
      await access(realPath + suffix, constants.W_OK | constants.R_OK).catch(passUnlessMissing);
    }
  } catch (error) {
    const { message } = error as Error;
    throw new DatabaseStartError(`The user ${getUserName()} cannot use the store: ${message}`, {
      cause: error,
    });
  }
}

function passUnlessMissing(error: unknown): void {
  if (getErrorCode(error) !== 'ENOENT') throw error;
}

/**
 * Creates a folder and its parents. The recursive mkdir() of Node never ends if nothing can be
 * created in an existing parent, as in /proc.
 */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT' && dirname(folder) !== folder) {
      await makeFolder(dirname(folder));
      await mkdir(folder);
    } else if (!(await stat(folder).catch(() => undefined))?.isDirectory()) {
      throw error;
    }
  }
}

/** In a container, the user may have a number but no name. */
function getUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
