import { setTimeout as sleep } from 'node:timers/promises';

/** Only a hang lasts so long, in nanoseconds. */
const LIMIT = 240_000_000_000n;

/** Waits for what no event tells of. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  // Tests move the other clocks.
  const end = process.hrtime.bigint() + LIMIT;
  while (!(await isTrue())) {
    if (process.hrtime.bigint() > end) throw new Error(`it did not come: ${String(isTrue)}`);
    await sleep(2);
  }
}
