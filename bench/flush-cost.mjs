import { Buffer } from 'node:buffer';
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { median } from './statistics.mjs';

const FLUSHES = 300;

/**
 * Measures how many milliseconds the disk takes to flush a small append, the least cost of a
 * durable commit.
 */
export function flushCost(folder) {
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
