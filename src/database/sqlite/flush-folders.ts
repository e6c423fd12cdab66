import { open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../error-code.js';

/** The user may enter the folder and not read it, or its file system flushes no folders. */
const NOT_POSSIBLE = new Set(['EACCES', 'EPERM', 'EINVAL']);

/**
 * Makes the name of a file durable, and those of the folders that it is in: a loss of power may take
 * a new name with everything that was flushed under it.
 *
 * @param path of an existing file
 */
export async function flushFolders(path: string): Promise<void> {
  const file = await realpath(path);
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    await flush(folder);
    if (folder === dirname(folder)) return;
  }
}

async function flush(folder: string): Promise<void> {
  try {
    const handle = await open(folder);
    await handle.sync().finally(() => handle.close());
  } catch (error) {
    if (!NOT_POSSIBLE.has(codeOf(error))) throw error;
  }
}
