import { jest } from '@jest/globals';

const NEVER_FAKED = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const),
  ...(['setImmediate', 'clearImmediate', 'setInterval', 'clearInterval'] as const),
];

const monotonicNow = performance.now.bind(performance);
let passed = 0;
let stoppedAt: number | undefined;

/**
 * Lets time pass for `Date` and `performance.now()`, but not for timers.
 *
 * @example
 * ```ts
 * passSeconds(60);
 * ```
 */
export function passSeconds(seconds: number): void {
  setClockBy(seconds);
  passMonotonicTime(seconds * 1_000);
}

/**
 * From now on only {@link passSeconds} and {@link passTimeouts} move `performance.now()`.
 *
 * @example
 * ```ts
 * stopClock();
 * passSeconds(1);
 * ```
 */
export function stopClock(): void {
  // The sums of whole numbers are exact.
  stoppedAt = Math.ceil(monotonicNow());
  passSeconds(0);
}

/**
 * Sets the system clock, as an administrator may: moves only `Date`.
 *
 * @param seconds how far; less than 0 to move it back
 * @example
 * ```ts
 * setClockBy(-60);
 * ```
 */
export function setClockBy(seconds: number): void {
  jest.useFakeTimers({
    now: Date.now() + seconds * 1_000,
    doNotFake: [...NEVER_FAKED, 'setTimeout', 'clearTimeout'],
  });
}

/**
 * From now on, timers of the program end only by {@link passTimeouts}.
 *
 * @example
 * ```ts
 * holdTimeouts();
 * passTimeouts(5_000);
 * ```
 */
export function holdTimeouts(): void {
  jest.useFakeTimers({ doNotFake: [...NEVER_FAKED, 'Date'] });
}

/**
 * Lets time pass for the timers that {@link holdTimeouts} holds, in milliseconds.
 *
 * @example
 * ```ts
 * holdTimeouts();
 * passTimeouts(5_000);
 * ```
 */
export function passTimeouts(ms: number): void {
  passMonotonicTime(ms);
  jest.advanceTimersByTime(ms);
}

function passMonotonicTime(ms: number): void {
  passed += ms;
  performance.now = () => (stoppedAt ?? monotonicNow()) + passed;
}

/**
 * Restores the clocks and timers.
 *
 * @example
 * ```ts
 * afterEach(resetClocks);
 * ```
 */
export function resetClocks(): void {
  jest.useRealTimers();
  passed = 0;
  stoppedAt = undefined;
  performance.now = monotonicNow;
}
