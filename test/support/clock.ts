import { jest } from '@jest/globals';

/** Moves what `Date` says, and no timer; `jest.useRealTimers()` takes it back. */
export function passSeconds(seconds: number): void {
  jest.useFakeTimers({
    now: Date.now() + seconds * 1_000,
    doNotFake: [
      ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate'] as const),
      ...([
        'setInterval',
        'setTimeout',
        'clearImmediate',
        'clearInterval',
        'clearTimeout',
      ] as const),
    ],
  });
}
