import { estimateCheck, findIntegrityFaults, type SqliteConnection } from 'durable-store';
import { readFileSync } from 'node:fs';
import { type Progress, showProgress } from '../observability/progress.js';

/**
 * Resolves with the first faults of a file, and shows how far the check is. SQLite does not say it, but
 * on Linux the system counts the bytes that are read.
 */
export async function findFaults(file: SqliteConnection): Promise<string[]> {
  // Rows of a damaged file may not be countable. The check itself says what is damaged.
  const total = await estimateCheck(file).catch(() => undefined);
  const before = readBytes();
  const read = (): Progress | undefined => {
    const bytes = readBytes();
    if (bytes === undefined || before === undefined || total === undefined) return undefined;
    return { done: bytes - before, total, unit: 'bytes' };
  };
  return await showProgress('Checking', read, findIntegrityFaults(file));
}

/** How many bytes this process has read; undefined on other systems than Linux. */
function readBytes(): number | undefined {
  try {
    const [, bytes] = /^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8')) ?? [];
    return Number(bytes);
  } catch {
    return undefined;
  }
}
