import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresServer } from '../../support/postgres-server.js';
import { ProgramFolder } from '../../support/program-folder.js';
import type { Program } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { TOKEN } from '../../support/token.js';
import { BUILD, ENGINE, type Proof, SEED } from '../proof.js';
import { SoakClient } from './soak-client.js';

const CLIENTS = 16;
/** How long capacity is measured, in milliseconds. */
const WARM_UP_MS = 10_000;
const SAMPLE_MS = 15_000;
/** The factors by which figures of the last third may exceed those of the first third. */
const MAX_GROWTH = { memory: 1.25, descriptors: 1.1, log: 2, p99: 4 };

/** The size at which SQLite reuses its log, in MiB: 1,000 pages of 4 KiB. */
const FULL_LOG = 8;

type Sample = Record<keyof typeof MAX_GROWTH, number>;

export default {
  summary:
    'sends all operations for hours at a third of capacity: all answers right, no figure grows',
  takes: 'the minutes given',
  before: BUILD,
  options: {
    minutes: { summary: 'how long', default: '20' },
    ...ENGINE,
    ...SEED,
  },
  run: async (options) => {
    const seed = options.number('seed');
    const minutes = options.number('minutes');
    console.log(`seed ${seed}, ${options.engine}, ${minutes} minutes`);
    const folder = await ProgramFolder.create();
    const server = options.engine === 'postgres' ? await PostgresServer.start() : undefined;
    try {
      const DATABASE_URL = server?.url() ?? 'sqlite:plants.db';
      const program = folder.start({ ACCESS_TOKENS: TOKEN, DATABASE_URL });
      const url = new URL(await program.listening());
      // Millions of log lines would fill the memory of this program.
      program.stopReading();
      return await soak(program, url, folder.file('plants.db-wal'), minutes * 60_000, seed);
    } finally {
      await folder.remove();
      await server?.remove();
    }
  },
} satisfies Proof;

/** @returns the faults */
async function soak(
  program: Program,
  url: URL,
  log: string,
  ms: number,
  seed: number,
): Promise<string[]> {
  const clients = Array.from(
    { length: CLIENTS },
    (_, index) => new SoakClient(url, index, new SeededRandom(seed + index)),
  );
  const running = clients.map((client) => client.run());
  await sleep(WARM_UP_MS);
  const answers = sum(clients.map((client) => client.takeLatencies().length));
  const capacity = answers / (WARM_UP_MS / 1_000);
  console.log(`capacity: ${Math.round(capacity)} requests per second`);
  for (const client of clients) client.pauseMs = (3 * CLIENTS * 1_000) / capacity;

  const samples: Sample[] = [];
  const end = performance.now() + ms;
  while (performance.now() < end && clients.every(({ faults }) => faults.length === 0)) {
    await sleep(SAMPLE_MS);
    const latencies = clients.flatMap((client) => client.takeLatencies());
    const sample = {
      memory: await program.residentMemory(),
      descriptors: program.openDescriptors(),
      log: (await stat(log).catch(() => ({ size: 0 }))).size / 2 ** 20,
      p99: latencies.sort((a, b) => a - b)[Math.floor(latencies.length * 0.99)] ?? 0,
    };
    samples.push(sample);
    console.log(`${latencies.length} answers: ${describe(sample)}`);
  }
  for (const client of clients) client.stop();
  await Promise.all(running);
  console.log(`${sum(clients.map(({ requests }) => requests))} requests in all`);
  program.kill('SIGTERM');
  await program.exited();
  return [...clients.flatMap(({ faults }) => faults), ...findGrowth(samples)];
}

function findGrowth(samples: readonly Sample[]): string[] {
  const third = Math.ceil(samples.length / 3);
  return Object.entries(MAX_GROWTH).flatMap(([name, factor]) => {
    const values = samples.map((sample) => sample[name as keyof Sample]);
    const [first, last] = [median(values.slice(0, third)), median(values.slice(-third))];
    console.log(`${name}: ${first.toFixed(1)} in the first third, ${last.toFixed(1)} in the last`);
    const grew = last > first * factor && (name !== 'log' || last > FULL_LOG);
    return grew ? [`${name} grew from ${first} to ${last}`] : [];
  });
}

function describe({ memory, descriptors, log, p99 }: Sample): string {
  return `${memory.toFixed(0)} MiB, ${descriptors} descriptors, log ${log.toFixed(1)} MiB, p99 ${p99.toFixed(1)} ms`;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
