import { setTimeout as sleep } from 'node:timers/promises';

/** Only a hang lasts longer, in nanoseconds. */
const LIMIT = 240_000_000_000n;

/**
 * Waits for a condition that no event reports.
 *
 * @param isTrue is called again and again
 * @throws Error when the condition is still false after 4 minutes
 * @example
 * ```ts
 * await until(async () => (await plants.find(1n)) === undefined);
 * ```
 */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  // Tests move the other clocks.
  const end = process.hrtime.bigint() + LIMIT;
  while (!(await isTrue())) {
    if (process.hrtime.bigint() > end) throw new Error(`it did not come: ${String(isTrue)}`);
    await sleep(2);
  }
}
