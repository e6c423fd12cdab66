import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Choices } from '../fuzz/choices.js';
import { PostgresServer } from '../support/postgres-server.js';
import { TestStore } from '../support/test-store.js';
import { Replicas } from './replicas.js';
import { Workload } from './workload.js';

// npm run test:linearizability -- --histories 10000 --engine postgres --replicas 2 --kills 10 --seed 1
//
// Clients that are concurrent create, replace, remove, read and list plants with a few ids; whether
// their answers are those of registers is checked. --kills kills one of the programs with SIGKILL
// now and then, --outages PostgreSQL.

/** The longest time between two kills, in milliseconds. */
const LONGEST_PAUSE_MS = 1_500;

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '10000' },
    engine: { type: 'string', default: 'sqlite' },
    replicas: { type: 'string', default: '1' },
    kills: { type: 'string', default: '0' },
    outages: { type: 'string', default: '0' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
  },
});
const { engine, seed } = values;
if (engine !== 'sqlite' && engine !== 'postgres') {
  console.error('--engine must be sqlite or postgres');
  process.exit(1);
}

const server = engine === 'postgres' ? await PostgresServer.start() : undefined;
if (server !== undefined) process.env.TEST_POSTGRES_URL = server.url();
const store = await TestStore.create(engine);
const choices = new Choices(Number(seed));
try {
  const replicas = await Replicas.start(Number(values.replicas), tmpdir(), store.url);
  await test(replicas).finally(() => replicas.stop());
} finally {
  await store.remove();
  await server?.remove();
}

async function test(replicas: Replicas): Promise<void> {
  const began = performance.now();
  const workload = new Workload(Number(seed), (request) => replicas.send(request, choices));
  const wanted = Number(values.histories);
  const run = workload.run(wanted);
  const counts = { kills: Number(values.kills), outages: Number(values.outages) };
  const done = { kills: 0, outages: 0 };
  // One after another: a program does not start while PostgreSQL is gone.
  while (done.kills < counts.kills || done.outages < counts.outages) {
    await sleep(choices.below(LONGEST_PAUSE_MS));
    if (workload.report.histories >= wanted) break;
    const left = { kills: counts.kills - done.kills, outages: counts.outages - done.outages };
    if (choices.below(left.kills + left.outages) < left.kills) {
      await replicas.kill(choices);
      done.kills++;
    } else {
      await server?.kill('SIGQUIT');
      await server?.resume();
      done.outages++;
    }
  }
  await run;
  const { histories, calls, unknown, violations } = workload.report;
  const seconds = ((performance.now() - began) / 1_000).toFixed();
  console.log(
    `seed ${seed}, ${engine}, ${values.replicas} replicas, ${done.kills} kills, ` +
      `${done.outages} outages, ${seconds} s: ${histories} histories, ${calls} calls, ` +
      `${unknown} unknown outcomes, ${violations.length} violations`,
  );
  for (const violation of violations.slice(0, 3)) console.error(`FAILED: ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}
