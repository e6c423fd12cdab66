import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { median } from './statistics.js';

const FLUSHES = 300;

/**
 * Measures how many milliseconds the disk takes to flush a small append, the least cost of a
 * durable commit.
 */
export function flushCost(folder: string): number {
  const file = path.join(folder, 'flush');
  const fd = openSync(file, 'w');
  const page = Buffer.alloc(4_096);
  const times = Array.from({ length: FLUSHES }, () => {
    writeSync(fd, page);
    const begin = performance.now();
    fdatasyncSync(fd);
    return performance.now() - begin;
  });
  closeSync(fd);
  rmSync(file);
  return median(times);
}

/** The unit of the kernel for processor times. */
const TICK_MS = 10;

/** Reads the processor time of a process, in milliseconds; NaN without /proc. */
export async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The fields after the name, which may contain spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
