import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { CrashLedger } from '../crash/crash-ledger.js';
import { CrashLoad } from '../crash/crash-load.js';
import { inNewFolder } from '../../support/new-folder.js';
import { Program } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { TOKEN } from '../../support/token.js';
import { BUILD, type Proof, SEED } from '../proof.js';
import { Cluster, SUPERUSER } from './cluster.js';

// Kills the primary of a cluster and its Patroni under load, again and again. No acknowledged plant
// may be lost or stored twice, and creates must succeed again by themselves.

const CONNECTIONS = 32;
/**
 * The pause of a connection between creates, in milliseconds, since sent plants are kept in memory.
 */
const PAUSE_MS = 20;
/** How long the load runs before a kill, in milliseconds. */
const LOAD_MS = 3_000;
/** The longest time of an answer, in milliseconds, on a busy machine. */
const LONGEST_ANSWER_MS = 6_500;

export default {
  summary:
    'kills the primary of a PostgreSQL cluster under load, and finds every acknowledged plant',
  takes: '1 min per round',
  needs: "Debian's packages patroni, etcd-server, haproxy and postgresql",
  before: BUILD,
  options: { rounds: { summary: 'how many failovers', default: '5' }, ...SEED },
  run: async (options) => {
    const rounds = options.number('rounds');
    const seed = options.number('seed');
    console.log(`seed ${seed}, ${rounds} rounds, ${CONNECTIONS} connections`);
    return await inNewFolder(async (folder) => {
      const cluster = await Cluster.start(folder);
      return await test(cluster, folder, rounds, seed).finally(() => cluster.stop());
    });
  },
} satisfies Proof;

/** The last acknowledged creates, and the longest gap between them. */
const watch = { created: 0, lastCreated: 0, longestGap: 0, longestAnswer: 0, unavailable: 0 };

async function test(
  cluster: Cluster,
  folder: string,
  rounds: number,
  seed: number,
): Promise<string[]> {
  await createDatabase(cluster);
  const program = Program.start(folder, {
    ACCESS_TOKENS: TOKEN,
    DATABASE_URL: cluster.url('plants', 'plants'),
  });
  const ledger = new CrashLedger(new SeededRandom(seed));
  const load = new CrashLoad(new URL(await program.listening()), ledger, {
    connections: CONNECTIONS,
    pauseMs: PAUSE_MS,
    onOutageAnswer: note,
  });
  for (let round = 1; round <= rounds; round++) await failOver(cluster, round);
  load.stop();
  const { answers, faults } = await load.stopped();
  program.kill('SIGTERM');
  if ((await program.exited()) !== 0) faults.push('the program did not stop in order');
  faults.push(...(await ledger.audit(cluster.url('plants', 'plants'))));
  if (watch.longestAnswer > LONGEST_ANSWER_MS) faults.push('an answer took too long');
  console.log(
    `${answers} answers, the longest after ${seconds(watch.longestAnswer)}; ` +
      `${ledger.summary()}, ${faults.length} faults`,
  );
  return faults;
}

async function createDatabase(cluster: Cluster): Promise<void> {
  const client = new pg.Client(cluster.url(SUPERUSER, 'postgres'));
  await client.connect();
  await client.query("CREATE ROLE plants LOGIN PASSWORD 'secret'");
  await client.query('CREATE DATABASE plants OWNER plants ENCODING UTF8 TEMPLATE template0');
  await client.end();
}

/** Kills the primary and its Patroni under load, and waits until the cluster has recovered. */
async function failOver(cluster: Cluster, round: number): Promise<void> {
  await sleep(LOAD_MS);
  const unavailable = watch.unavailable;
  Object.assign(watch, { lastCreated: performance.now(), longestGap: 0 });
  const killed = await cluster.killPrimary();
  const created = watch.created;
  while (watch.longestGap < 1_000 || watch.created < created + 100) await sleep(100);
  const gap = watch.longestGap;
  cluster.startPatroni(killed);
  const began = performance.now();
  await cluster.recovered();
  console.log(
    `round ${round}: ${killed} was killed, creates came back after ${seconds(gap)}, ` +
      `${watch.unavailable - unavailable} were answered 503; ` +
      `it was a standby again ${seconds(performance.now() - began)} after its start`,
  );
}

function note(code: number, ms: number): void {
  const now = performance.now();
  watch.longestAnswer = Math.max(watch.longestAnswer, ms);
  if (code === 50_300) watch.unavailable++;
  if (code !== 200) return;
  watch.created++;
  watch.longestGap = Math.max(watch.longestGap, now - watch.lastCreated);
  watch.lastCreated = now;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
