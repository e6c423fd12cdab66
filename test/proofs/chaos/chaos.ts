import { setTimeout as sleep } from 'node:timers/promises';
import { Faults } from '../../support/faults.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { ProgramFolder } from '../../support/program-folder.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { BUILD, ENGINE, OptionError, type Proof, type ProofOptions, SEED } from '../proof.js';
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

export default {
  summary: 'strikes programs under load, and finds nothing lost, stale, half done or unannounced',
  takes: 'the given time; a failover takes 1 min',
  needs: "cc for flushes; Debian's patroni, etcd-server, haproxy and postgresql for failover",
  before: BUILD,
  options: {
    seconds: { summary: 'how long', default: '60' },
    nemesis: {
      summary: 'kill, stop, flushes (SQLite), outage or failover (PostgreSQL); or several',
      default: 'kill,stop',
    },
    replicas: { summary: 'how many programs share the store', default: '1' },
    ...ENGINE,
    ...SEED,
  },
  run: async (options) => {
    const folder = await ProgramFolder.create();
    const database = await startDatabase(folder, options);
    try {
      return await strikeUnderLoad(options, folder, database);
    } finally {
      await folder.remove();
      await database?.remove();
    }
  },
} satisfies Proof;

type Database = PostgresServer | Cluster | undefined;

async function strikeUnderLoad(
  options: ProofOptions,
  folder: ProgramFolder,
  database: Database,
): Promise<string[]> {
  const { engine } = options;
  const seed = options.number('seed');
  const random = new SeededRandom(seed);
  const nemeses = parseNemeses(options);
  const flushes = nemeses.includes('flushes') ? new Faults(folder.path, '.db-wal') : undefined;
  const env = {
    DATABASE_URL: database?.url() ?? 'sqlite:plants.db',
    ...PROGRAM_ENV,
    ...flushes?.env,
  };
  const replicas = await Replicas.start(options.number('replicas'), folder, env, random);
  const load = new Load(replicas.send, seed, LONGEST_TRANSACTION_MS[engine]);
  const end = performance.now() + options.number('seconds') * 1_000;
  const counts = new Map<Nemesis, number>();
  while (performance.now() < end && load.faults.length === 0 && replicas.faults.length === 0) {
    await sleep(random.below(LONGEST_PAUSE_MS));
    const nemesis = random.pick(...nemeses);
    counts.set(nemesis, (counts.get(nemesis) ?? 0) + 1);
    await strike(nemesis, { replicas, database, flushes, random });
    await load.audit();
  }
  await load.stop();
  await replicas.stop();
  const struck = [...counts].map(([nemesis, count]) => `${nemesis} ${count} times`).join(', ');
  const replicaCount = options.number('replicas');
  console.log(`${engine}, ${replicaCount} replicas, seed ${seed}: ${struck}; ${load.summary()}`);
  const damage = engine === 'sqlite' ? await checkStore(folder) : [];
  return [...load.faults, ...replicas.faults, ...damage];
}

interface Target {
  readonly replicas: Replicas;
  readonly database: Database;
  readonly flushes: Faults | undefined;
  readonly random: SeededRandom;
}

async function strike(nemesis: Nemesis, target: Target): Promise<void> {
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

async function startDatabase(folder: ProgramFolder, options: ProofOptions): Promise<Database> {
  if (options.engine === 'sqlite') return undefined;
  const isCluster = parseNemeses(options).includes('failover');
  return isCluster ? await Cluster.start(folder.file('cluster')) : await PostgresServer.start();
}

function parseNemeses(options: ProofOptions): readonly [Nemesis, ...Nemesis[]] {
  const known: readonly string[] = NEMESES[options.engine];
  const names = options.text('nemesis')?.split(',') ?? [];
  const [first, ...others] = names.filter((name): name is Nemesis => known.includes(name));
  if (first !== undefined && others.length + 1 === names.length) return [first, ...others];
  throw new OptionError(
    `--nemesis must name some of ${known.join(', ')}, with commas between them`,
  );
}

async function checkStore(folder: ProgramFolder): Promise<string[]> {
  const { exitCode, errors } = await folder.run('db-check', ['plants.db'], {});
  return exitCode === 0 ? [] : [`db-check: ${errors}`];
}
