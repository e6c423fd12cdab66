import { readFileSync } from 'node:fs';
import { OperatorError } from '../errors/operator.error.js';

/** The oldest version of Node, as in package.json. */
export const MIN_NODE = '20.19';

/** Node opens hundreds of files at the same time while it loads the modules of a program. */
const MIN_OPEN_FILES = 1_024;

/**
 * Checks what must be known before any package is loaded, since the errors of loading would hide it.
 *
 * @throws OperatorError
 */
export function assertRequirements(): void {
  const { node } = process.versions;
  if (node.localeCompare(MIN_NODE, 'en', { numeric: true }) < 0) {
    throw new OperatorError(`Node ${node} is too old: install Node ${MIN_NODE} or newer`);
  }
  const allowedFiles = readOpenFilesLimit();
  if (allowedFiles < MIN_OPEN_FILES) {
    throw new OperatorError(
      `The system allows ${allowedFiles} open files, and this program needs ${MIN_OPEN_FILES} to start: raise the limit (ulimit -n, LimitNOFILE)`,
    );
  }
}

/** Reads how many files the system lets this program open; Infinity if it does not say. */
export function readOpenFilesLimit(): number {
  try {
    // Node has raised the soft limit, which comes first, to the hard one.
    const limits = readFileSync('/proc/self/limits', 'utf8');
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    // Only Linux has this file.
    return Infinity;
  }
}
