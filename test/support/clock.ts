import { jest } from '@jest/globals';

const monotonicNow = performance.now.bind(performance);
let passed = 0;

/** Lets time pass: moves what `Date` and `performance.now()` say, and no timer. */
export function passSeconds(seconds: number): void {
  setClockBy(seconds);
  passed += seconds * 1_000;
  performance.now = () => monotonicNow() + passed;
}

/** Sets the system's clock, as an administrator may: moves what `Date` says and nothing else. */
export function setClockBy(seconds: number): void {
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

/** Takes back what was done to the clocks. */
export function resetClocks(): void {
  jest.useRealTimers();
  passed = 0;
  performance.now = monotonicNow;
}
