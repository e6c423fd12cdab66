import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Counts the bytes of all objects and texts that are alive, after a full collection. */
export function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
