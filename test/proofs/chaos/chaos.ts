import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Faults } from '../../support/faults.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { ENGINE, parseEngine, parseNumber, type Proof, SEED } from '../proof.js';
import { Cluster } from './cluster.js';
import { Load } from './load.js';
import { PROGRAM_ENV, Replicas } from './replicas.js';

/** The longest time between two strikes, and that of slow and failing flushes. */
const LONGEST_PAUSE_MS = 3_000;
/** The longest pause in a transaction. On SQLite, all others wait for it. */
const LONGEST_TRANSACTION_MS = { sqlite: 10, postgres: 500 };

type Nemesis = 'kill' | 'stop' | 'flushes' | 'outage' | 'failover';
const NEMESES = {
  sqlite: ['kill', 'stop', 'flushes'],
  postgres: ['kill', 'stop', 'outage', 'failover'],
} as const;

const OPTIONS = {
  seconds: { type: 'string', default: '60' },
  /** Some of {@link NEMESES}, with commas between them. */
  nemesis: { type: 'string', default: 'kill,stop' },
  replicas: { type: 'string', default: '1' },
  ...ENGINE,
  ...SEED,
} as const;

/** Strikes programs under load, and finds nothing lost, stale, half done or unannounced. */
export default (async (args) => {
  const { values } = parseArgs({ args, options: OPTIONS });
  const engine = parseEngine(values);
  const plan: Plan = {
    engine,
    nemeses: parseNemeses(values.nemesis, engine),
    seconds: parseNumber(values.seconds),
    replicas: parseNumber(values.replicas),
    seed: parseNumber(values.seed),
  };
  const folder = await ProgramFolder.create();
  const database = await startDatabase(plan);
  try {
    return await strikeUnderLoad(plan, folder, database);
  } finally {
    await folder.remove();
    await database?.remove();
  }
}) satisfies Proof;

interface Plan {
  readonly engine: keyof typeof NEMESES;
  readonly nemeses: readonly Nemesis[];
  readonly seconds: number;
  readonly replicas: number;
  readonly seed: number;
}

type Database = PostgresServer | Cluster | undefined;

async function strikeUnderLoad(
  { engine, nemeses, seconds, replicas: count, seed }: Plan,
  folder: ProgramFolder,
  database: Database,
): Promise<string[]> {
  const random = new SeededRandom(seed);
  const flushes = nemeses.includes('flushes') ? new Faults(folder.path, '.db-wal') : undefined;
  const DATABASE_URL = database?.url() ?? 'sqlite:plants.db';
  const env = { ...PROGRAM_ENV, DATABASE_URL, ...flushes?.env };
  const replicas = await Replicas.start(count, folder, env, random);
  const load = new Load(replicas.send, seed, LONGEST_TRANSACTION_MS[engine]);
  const end = performance.now() + seconds * 1_000;
  let strikes = 0;
  // Each strikes at least once, however slow the machine is.
  while (strikes < nemeses.length || performance.now() < end) {
    if (load.faults.length > 0 || replicas.faults.length > 0) break;
    await sleep(random.below(LONGEST_PAUSE_MS));
    const nemesis = nemeses[strikes++ % nemeses.length];
    await strike(nemesis, { replicas, database, flushes, random });
    await load.audit();
  }
  await load.stop();
  await replicas.stop();
  console.log(
    `${engine}, ${count} replicas, ${strikes} strikes of ${nemeses.join()}, seed ${seed}`,
  );
  console.log(load.summary());
  const damage = engine === 'sqlite' ? await checkStore(folder) : [];
  return [...load.faults, ...replicas.faults, ...damage];
}

interface Target {
  readonly replicas: Replicas;
  readonly database: Database;
  readonly flushes: Faults | undefined;
  readonly random: SeededRandom;
}

async function strike(nemesis: Nemesis | undefined, target: Target): Promise<void> {
  const { replicas, database, flushes, random } = target;
  if (nemesis === 'kill') await replicas.kill();
  if (nemesis === 'stop') await replicas.restart();
  if (nemesis === 'flushes') {
    flushes?.set({ flushMs: 30, flushFailureStep: 5 });
    await sleep(random.below(LONGEST_PAUSE_MS));
    flushes?.set({ flushMs: 0, flushFailureStep: 0 });
  }
  if (nemesis === 'outage' && database instanceof PostgresServer) {
    await database.kill('SIGQUIT');
    await database.resume();
  }
  if (nemesis === 'failover' && database instanceof Cluster) await database.failOver();
}

async function startDatabase({ engine, nemeses }: Plan): Promise<Database> {
  if (engine === 'sqlite') return undefined;
  return await (nemeses.includes('failover') ? Cluster : PostgresServer).start();
}

function parseNemeses(text: string, engine: keyof typeof NEMESES): Nemesis[] {
  const known: readonly string[] = NEMESES[engine];
  const names = text.split(',');
  if (!names.every((name) => known.includes(name))) {
    throw new RangeError(`--nemesis must name some of ${known.join()} on ${engine}`);
  }
  return names as Nemesis[];
}

async function checkStore(folder: ProgramFolder): Promise<string[]> {
  const { exitCode, errors } = await folder.run('db-check', ['plants.db'], {});
  return exitCode === 0 ? [] : [`db-check: ${errors}`];
}
