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
  passMonotonicTime(seconds * 1_000);
}

/** From now on only {@link passSeconds} and {@link passTimeouts} move `performance.now()`. */
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
  passMonotonicTime(ms);
  jest.advanceTimersByTime(ms);
}

function passMonotonicTime(ms: number): void {
  passed += ms;
  performance.now = () => (stoppedAt ?? monotonicNow()) + passed;
}

/** Restores the clocks and timers. */
export function resetClocks(): void {
  jest.useRealTimers();
  passed = 0;
  stoppedAt = undefined;
  performance.now = monotonicNow;
}
