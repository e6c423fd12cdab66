import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { stopUnderLoad } from './stop-under-load.js';

// npm run test:stop -- --stops 100

const { values } = parseArgs({ options: { stops: { type: 'string', default: '10' } } });
const stops = Number(values.stops);
const folder = mkdtempSync(join(tmpdir(), 'plant-store-stop-'));
const durations: number[] = [];
try {
  for (let stop = 1; stop <= stops; stop++) {
    // Every second one has clients that keep their connections open and send nothing.
    const { answers, faults, ms } = await stopUnderLoad(folder, stop % 2 === 0 ? 8 : 0);
    durations.push(ms);
    console.log(`stop ${stop}: ${answers} answers, stopped in ${ms} ms, ${faults.length} faults`);
    for (const fault of faults.slice(0, 10)) console.error(`FAILED: ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  }
  console.log(`the longest stop took ${Math.max(...durations)} ms`);
} finally {
  await sleep(0);
  rmSync(folder, { recursive: true });
}
