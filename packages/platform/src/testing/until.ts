import { setTimeout as sleep } from 'node:timers/promises';

/** Only a hang lasts longer, in nanoseconds. */
const LIMIT = 240_000_000_000n;

/** Waits for a condition that no event reports. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  // Tests move the other clocks.
  const end = process.hrtime.bigint() + LIMIT;
  while (!(await isTrue())) {
    if (process.hrtime.bigint() > end) throw new Error(`it did not come: ${String(isTrue)}`);
    await sleep(2);
  }
}
