import { readFile } from 'node:fs/promises';

/** The kernel's unit in which it tells times of the processor. */
const TICK_MS = 10;

/** What a process has had of the processor, in milliseconds; NaN where there is no /proc. */
export async function processorMs(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // After the name, which may have blanks in it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
