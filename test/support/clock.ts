import { jest } from '@jest/globals';

const NEVER_FAKED = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const),
  ...(['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const),
];

const monotonicNow = performance.now.bind(performance);
let passed = 0;
let stoppedAt: number | undefined;

/** Lets time pass for `Date` and `performance.now()`, but not for timers. */
export function passSeconds(seconds: number): void {
  setClockBy(seconds);
  passed += seconds * 1_000;
  performance.now = () => (stoppedAt ?? monotonicNow()) + passed;
}

/** From now on {@link passSeconds} alone moves `performance.now()`. */
export function stopClock(): void {
  // The sums of whole numbers are exact.
  stoppedAt = Math.ceil(monotonicNow());
  passSeconds(0);
}

/** Sets the system clock, as an administrator may: moves only `Date`. */
export function setClockBy(seconds: number): void {
  jest.useFakeTimers({
    now: Date.now() + seconds * 1_000,
    doNotFake: [...NEVER_FAKED, 'setTimeout', 'clearTimeout'],
  });
}

/** From now on, timers of the program end only by {@link passTimeouts}. */
export function holdTimeouts(): void {
  jest.useFakeTimers({ doNotFake: [...NEVER_FAKED, 'Date'] });
}

export function passTimeouts(ms: number): void {
  passed += ms;
  performance.now = () => monotonicNow() + passed;
  jest.advanceTimersByTime(ms);
}

/** Restores the clocks and timers. */
export function resetClocks(): void {
  jest.useRealTimers();
  passed = 0;
  stoppedAt = undefined;
  performance.now = monotonicNow;
}
