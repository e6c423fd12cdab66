import express from 'express';
import { realpathSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { OperatorError } from '../errors/operator.error.js';

/** The folders whose files are served. */
const folders = new Set<string>();

const serveStatic = express.static;

/**
 * Notes the folders that are served from now on. Nest's ServeStaticModule and useStaticAssets() call
 * `express.static()` too, and the middleware hides its folder.
 */
export function noteServedFolders(): void {
  express.static = (folder, options) => {
    folders.add(resolve(folder));
    return serveStatic(folder, options);
  };
}

/**
 * Checks that no folder is served that has the file of the store. A download would close a descriptor
 * of the file, by which the system would drop the locks of this program on it.
 *
 * @throws OperatorError
 */
export function assertStoreNotServed(store: string): void {
  const path = realpathSync(store);
  for (const folder of folders) {
    if (!isIn(folder, path)) continue;
    throw new OperatorError(
      `Files are served from ${folder}, which has the store ${path}: clients could download it, and the program would lose its locks on it. Let ServeStaticModule, useStaticAssets() or express.static() serve another folder, or let DATABASE_URL name a file outside of it`,
    );
  }
}

function isIn(folder: string, path: string): boolean {
  try {
    return path.startsWith(realpathSync(folder).replace(/\/?$/, sep));
  } catch {
    // There is no such folder.
    return false;
  }
}
