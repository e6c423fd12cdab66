import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../support/postgres-server.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { TestStore } from '../../support/test-store.js';
import { BUILD, ENGINE, type Proof, type ProofOptions, SEED } from '../proof.js';
import { Replicas } from './replicas.js';
import { Workload } from './workload.js';

/** The longest time between two kills, in milliseconds. */
const LONGEST_PAUSE_MS = 1_500;

export default {
  summary: 'checks the answers to concurrent clients to be those of registers, also across kills',
  takes: '1 min on SQLite',
  before: BUILD,
  options: {
    histories: { summary: 'how many short histories of one id', default: '10000' },
    replicas: { summary: 'how many programs share the store', default: '1' },
    kills: { summary: 'how often one of them is killed', default: '0' },
    outages: { summary: 'how often PostgreSQL is killed', default: '0' },
    ...ENGINE,
    ...SEED,
  },
  run: async (options) => {
    const { engine } = options;
    const server = engine === 'postgres' ? await PostgresServer.start() : undefined;
    if (server !== undefined) process.env.TEST_POSTGRES_URL = server.url();
    const store = await TestStore.create(engine);
    const replicas = await Replicas.start(options.number('replicas'), tmpdir(), store.url);
    try {
      return await check(options, replicas, server);
    } finally {
      await replicas.stop();
      await store.remove();
      await server?.remove();
    }
  },
} satisfies Proof;

/** @returns the histories that no register has */
async function check(
  options: ProofOptions,
  replicas: Replicas,
  server: PostgresServer | undefined,
): Promise<readonly string[]> {
  const seed = options.number('seed');
  const random = new SeededRandom(seed);
  const began = performance.now();
  const workload = new Workload(seed, (request) => replicas.send(request, random));
  const wanted = options.number('histories');
  const run = workload.run(wanted);
  const counts = { kills: options.number('kills'), outages: options.number('outages') };
  const done = { kills: 0, outages: 0 };
  // One after another: a program does not start while PostgreSQL is gone.
  while (done.kills < counts.kills || done.outages < counts.outages) {
    await sleep(random.below(LONGEST_PAUSE_MS));
    if (workload.report.histories >= wanted) break;
    const left = { kills: counts.kills - done.kills, outages: counts.outages - done.outages };
    if (random.below(left.kills + left.outages) < left.kills) {
      await replicas.kill(random);
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
    `seed ${seed}, ${options.engine}, ${options.number('replicas')} replicas, ${done.kills} kills, ` +
      `${done.outages} outages, ${seconds} s: ${histories} histories, ${calls} calls, ` +
      `${unknown} unknown outcomes, ${violations.length} violations`,
  );
  return violations;
}
