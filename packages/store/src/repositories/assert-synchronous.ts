import { types } from 'node:util';

/** @throws TypeError when a function has returned a promise, which nothing would wait for */
export function assertSynchronous(returned: unknown): void {
  if (!types.isPromise(returned)) return;
  returned.catch(() => undefined);
  throw new TypeError(
    'A function that a repository calls must be synchronous: it returned a promise',
  );
}
