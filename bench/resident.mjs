import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The memory of a process that is not swapped out, in MiB. */
export async function residentMiB(pid) {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) / 1_024;
}
