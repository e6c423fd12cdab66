import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Faults } from '../../support/faults.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { parseNumber, type Proof, SEED } from '../proof.js';
import { Cluster } from './cluster.js';
import { Load } from './load.js';
import { PROGRAM_ENV, Replicas } from './replicas.js';

/** The longest time between two strikes, and that of slow and failing flushes. */
const LONGEST_PAUSE_MS = 3_000;
/** The longest pause in a transaction. On SQLite, all others wait for it. */
const LONGEST_TRANSACTION_MS = { sqlite: 10, postgres: 500 };

interface Target {
  readonly replicas: Replicas;
  readonly database: PostgresServer | Cluster | undefined;
  readonly flushes: Faults | undefined;
  readonly random: SeededRandom;
}

type Strike = (target: Target) => Promise<void>;

const ON_PROGRAMS: Readonly<Record<string, Strike>> = {
  kill: ({ replicas }) => replicas.kill(),
  stop: ({ replicas }) => replicas.restart(),
};
const NEMESES: Readonly<Record<'sqlite' | 'postgres', Readonly<Record<string, Strike>>>> = {
  sqlite: {
    ...ON_PROGRAMS,
    flushes: async ({ flushes, random }) => {
      flushes?.set({ flushMs: 30, flushFailureStep: 5 });
      await sleep(random.below(LONGEST_PAUSE_MS));
      flushes?.set({ flushMs: 0, flushFailureStep: 0 });
    },
  },
  postgres: {
    ...ON_PROGRAMS,
    outage: async ({ database }) => {
      if (database instanceof PostgresServer) {
        await database.kill('SIGQUIT');
        await database.resume();
      } else await database?.restart();
    },
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
  const random = new SeededRandom(seed);
  const folder = await ProgramFolder.create();
  const database = await startDatabase(engine, names);
  try {
    const flushes = names.includes('flushes') ? new Faults(folder.path, '.db-wal') : undefined;
    const DATABASE_URL = database?.url() ?? 'sqlite:plants.db';
    const env = { ...PROGRAM_ENV, DATABASE_URL, ...flushes?.env };
    const replicas = await Replicas.start(count, folder, env, random);
    const load = new Load(replicas.send, seed, LONGEST_TRANSACTION_MS[engine]);
    const target = { replicas, database, flushes, random };
    const struck = await strikeUnderLoad(strikes, parseNumber(values.seconds), load, target);
    console.log(`${engine}, ${count} replicas, ${struck} strikes of ${names.join()}, seed ${seed}`);
    console.log(load.summary());
    const damage = engine === 'sqlite' ? await checkStore(folder) : [];
    return [...load.faults, ...replicas.faults, ...damage];
  } finally {
    await folder.remove();
    await database?.remove();
  }
}) satisfies Proof;

/** Resolves with the number of strikes, once the load and the programs are stopped. */
async function strikeUnderLoad(
  strikes: readonly Strike[],
  seconds: number,
  load: Load,
  target: Target,
): Promise<number> {
  const { replicas, random } = target;
  const end = performance.now() + seconds * 1_000;
  let count = 0;
  // Each strikes at least once, however slow the machine is.
  while (count < strikes.length || performance.now() < end) {
    if (load.faults.length > 0 || replicas.faults.length > 0) break;
    await sleep(random.below(LONGEST_PAUSE_MS));
    await strikes[count++ % strikes.length]?.(target);
    await load.audit();
  }
  await load.stop();
  await replicas.stop();
  return count;
}

async function startDatabase(
  engine: 'sqlite' | 'postgres',
  nemeses: readonly string[],
): Promise<Target['database']> {
  if (engine === 'sqlite') return undefined;
  return await (nemeses.includes('failover') ? Cluster : PostgresServer).start();
}

async function checkStore(folder: ProgramFolder): Promise<string[]> {
  const { exitCode, errors } = await folder.run('db-check', ['plants.db'], {});
  return exitCode === 0 ? [] : [`db-check: ${errors}`];
}
