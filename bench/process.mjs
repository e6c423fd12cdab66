import { readFile } from 'node:fs/promises';

/** The unit of the kernel for processor times. */
const TICK_MS = 10;

/** Reads the processor time of a process, in milliseconds; NaN without /proc. */
export async function processorMs(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The fields after the name, which may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
