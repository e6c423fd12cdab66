import { open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { getErrorCode } from '../data-source/error-code.js';

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

/** Flushes a file to disk. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}

/** Flushes the names in a folder to disk, where that is possible. */
export async function flushFolder(folder: string): Promise<void> {
  try {
    await flush(folder);
  } catch (error) {
    if (!NOT_POSSIBLE.has(getErrorCode(error))) throw error;
  }
}
