// The built program with another module, which saves rows through TypeORM at a steady rate. Their
// ids are negative, and their tags contain the time when each save began.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const ROWS_PER_SECOND = 100;
const DIST = new URL('../../dist/app.js', import.meta.url);

const { createApp } = await import(DIST.href);
// TypeORM of the program, not of the benchmark.
const { DataSource } = createRequire(DIST)('typeorm');
const app = await createApp();
await app.init();
const backlog = 4_096;
await once(
  app.getHttpServer().listen({ port: process.env.PORT, host: '127.0.0.1', backlog }),
  'listening',
);

let isStopped = false;
const saving = saveSteadily(app.get(DataSource).getRepository('Plant'));
process.once('SIGTERM', async () => {
  isStopped = true;
  await saving;
  await app.close();
  process.exit();
});

/** A save begins when it is due, whether the one before has ended or not. */
async function saveSteadily(plants) {
  const saves = [];
  const begin = Date.now();
  for (let row = 1; !isStopped; row += 1) {
    await sleep(Math.max(0, begin + (row * 1_000) / ROWS_PER_SECOND - Date.now()));
    const plant = { id: String(-row), name: 'a neighbour', tag: String(Date.now()) };
    saves.push(plants.save(plant));
  }
  await Promise.all(saves);
}
