import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The size of the objects on the heap that are alive, in bytes. */
export function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
