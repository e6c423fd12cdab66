import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Faults } from '../../../packages/platform/src/testing/faults.js';
import { PostgresServer } from '../../../packages/platform/src/testing/postgres-server.js';
import { ProgramFolder } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { parseNumber, type Proof, SEED } from '../proof.js';
import { Cluster } from './cluster.js';
import { Load } from './load.js';
import { Neighbours } from './neighbours.js';
import { Replica } from './replica.js';
import type { Send } from './requests.js';

/** The longest time between two strikes, and that of slow and failing flushes. */
const LONGEST_PAUSE_MS = 3_000;
/** How long after its start a program may be killed again. */
const LONGEST_START_MS = 800;
/** How long the clients may take to be served again after a strike. */
const LONGEST_RECOVERY_MS = 120_000;
/** The longest time in which a program serves without its locks before it is killed. */
const LONGEST_WITHOUT_LOCKS_MS = 500;
/** The longest pause in a transaction. On SQLite, all others wait for it. */
const LONGEST_TRANSACTION_MS = { sqlite: 10, postgres: 500 };

interface Target {
  /** Draws one of the programs on the store. */
  readonly any: () => Replica;
  readonly database: PostgresServer | Cluster | undefined;
  readonly flushes: Faults | undefined;
  readonly neighbours: Neighbours;
  readonly random: SeededRandom;
}

type Strike = (target: Target) => Promise<void>;

const ON_PROGRAMS: Readonly<Record<string, Strike>> = {
  kill: ({ any, random }) => {
    const isStartKilled = random.below(4) === 0;
    return any().restart('SIGKILL', isStartKilled ? random.below(LONGEST_START_MS) : undefined);
  },
  stop: ({ any }) => any().restart('SIGTERM'),
};
const NEMESES: Readonly<Record<'sqlite' | 'postgres', Readonly<Record<string, Strike>>>> = {
  sqlite: {
    ...ON_PROGRAMS,
    flushes: async ({ flushes, random }) => {
      flushes?.set({ flushMs: 30, flushFailureStep: 5 });
      await sleep(random.below(LONGEST_PAUSE_MS));
      flushes?.set({ flushMs: 0, flushFailureStep: 0 });
    },
    neighbour: ({ neighbours }) => neighbours.visit(),
    inside: ({ any, neighbours, random }) => {
      const file = random.pick('plants.db', 'plants.db-wal', 'plants.db-lock');
      const way = random.pick('copyFile', 'cp', 'createReadStream', 'open', 'readFile', 'Worker');
      const program = any();
      return program.killAfter(async () => {
        await program.send({ method: 'POST', path: `/reads?file=${file}&way=${way}` });
        for (const visit of ['select', 'backup', 'insert']) await neighbours.make(visit);
        await sleep(random.below(LONGEST_WITHOUT_LOCKS_MS));
      });
    },
  },
  postgres: {
    ...ON_PROGRAMS,
    outage: async ({ database }) => await database?.restart(),
    failover: async ({ database }) => {
      if (database instanceof Cluster) await database.failOver();
    },
  },
};

const OPTIONS = {
  seconds: { type: 'string', default: '60' },
  /** Some of {@link NEMESES}, with commas between them. */
  nemesis: { type: 'string', default: 'kill,stop' },
  replicas: { type: 'string', default: '1' },
  engine: { type: 'string', default: 'sqlite' },
  ...SEED,
} as const;

/** Strikes programs under load, and finds nothing lost, stale, half done or unannounced. */
export default (async (args) => {
  const { values } = parseArgs({ args, options: OPTIONS });
  const { engine } = values;
  if (engine !== 'sqlite' && engine !== 'postgres') {
    throw new RangeError('--engine must be sqlite or postgres');
  }
  const names = values.nemesis.split(',');
  const strikes = names.flatMap((name) => NEMESES[engine][name] ?? []);
  if (strikes.length < names.length) {
    const known = Object.keys(NEMESES[engine]).join();
    throw new RangeError(`--nemesis must name some of ${known} on ${engine}`);
  }
  const [seed, count] = [parseNumber(values.seed), parseNumber(values.replicas)];
  const end = performance.now() + parseNumber(values.seconds) * 1_000;
  const random = new SeededRandom(seed);
  const faults: string[] = [];
  const folder = await ProgramFolder.create();
  const Database = names.includes('failover') ? Cluster : PostgresServer;
  const database = engine === 'postgres' ? await Database.start() : undefined;
  try {
    const flushes = names.includes('flushes') ? new Faults(folder.path, '.db-wal') : undefined;
    const env = { DATABASE_URL: database?.url() ?? 'sqlite:plants.db', ...flushes?.env };
    const starts = Array.from({ length: count }, () => Replica.start(folder, env, faults));
    const replicas = await Promise.all(starts);
    const any = (): Replica => random.pick(...(replicas as [Replica, ...Replica[]]));
    const send: Send = (request) => any().send(request);
    const longestMs = LONGEST_TRANSACTION_MS[engine];
    const load = new Load({ seed, send, faults, longestMs, patienceMs: 20_000 });
    const neighbours = new Neighbours(folder, faults);
    const target = { any, database, flushes, neighbours, random };
    let struck = 0;
    // Each strikes at least once, however slow the machine is.
    while (faults.length === 0 && (struck < strikes.length || performance.now() < end)) {
      await sleep(random.below(LONGEST_PAUSE_MS));
      await strikes[struck++ % strikes.length]?.(target);
      await assertRecovery(load.audit());
    }
    await assertRecovery(load.stop());
    for (const replica of replicas) await replica.end('SIGTERM');
    console.log(`${engine}, ${count} replicas, ${struck} strikes of ${names.join()}, seed ${seed}`);
    console.log(load.summary());
    if (engine === 'sqlite') {
      await neighbours.leave();
      console.log(neighbours.summary());
      const { exitCode, errors } = await folder.run('db-check', ['plants.db'], {});
      if (exitCode !== 0) faults.push(`db-check: ${errors}`);
    }
    return faults;
  } finally {
    await folder.remove();
    await database?.remove();
  }
}) satisfies Proof;

/** Rejects if clients that repeat their requests until they are served are never served again. */
async function assertRecovery(served: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const late = sleep(LONGEST_RECOVERY_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error('The program does not recover: clients wait in vain for their answers');
  });
  await Promise.race([served, late]).finally(() => over.abort());
}
