import { execFileSync } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../../support/documents.js';
import { inNewFolder } from '../../support/new-folder.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Program } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { TestStore } from '../../support/test-store.js';
import { BUILD, ENGINE, type Proof, type ProofOptions, SEED } from '../proof.js';
import type { Send } from './history.js';
import { sendToPlantings } from './planting-requests.js';
import { Replicas, type StartProgram } from './replicas.js';
import { Workload } from './workload.js';

/** The longest time between two kills, in milliseconds. */
const LONGEST_PAUSE_MS = 1_500;

export default {
  summary: 'checks that the answers to concurrent clients are linearizable, also across kills',
  takes: '1 min on SQLite',
  before: BUILD,
  options: {
    histories: { summary: 'how many short histories of one id', default: '10000' },
    replicas: { summary: 'how many programs share the store', default: '1' },
    kills: { summary: 'how often one of them is killed', default: '0' },
    plantings: {
      summary: 'takes the plantings of test/example, with a key of two columns',
      isSwitch: true,
    },
    outages: { summary: 'how often PostgreSQL is killed', default: '0' },
    ...ENGINE,
    ...SEED,
  },
  run: async (options) => {
    const { engine } = options;
    const server = engine === 'postgres' ? await PostgresServer.start() : undefined;
    if (server !== undefined) process.env.TEST_POSTGRES_URL = server.url();
    const store = await TestStore.create(engine);
    return await inNewFolder(async (folder) => {
      const main = options.isOn('plantings') ? compileExample(folder) : undefined;
      const start: StartProgram = (cwd, env) =>
        main === undefined ? Program.start(cwd, env) : Program.startFile(cwd, env, main);
      const replicas = await Replicas.start(options.number('replicas'), folder, store.url, start);
      try {
        return await check(options, replicas, server);
      } finally {
        await replicas.stop();
        await store.remove();
        await server?.remove();
      }
    });
  },
} satisfies Proof;

/**
 * Compiles the program with the features of test/example.
 *
 * @returns the path of the file to start
 */
function compileExample(folder: string): string {
  const sources = ['package.json', 'tsconfig.json', 'src', 'test/example', 'test/support'];
  for (const source of sources)
    cpSync(join(ROOT, source), join(folder, source), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const compile = ['node_modules/typescript/bin/tsc', '--noCheck', '--outDir', 'dist'];
  execFileSync(process.execPath, compile, { cwd: folder, stdio: 'inherit' });
  cpSync(join(folder, 'package.json'), join(folder, 'dist/package.json'));
  return join(folder, 'dist/test/example/main.js');
}

/** @returns the histories that are not linearizable */
async function check(
  options: ProofOptions,
  replicas: Replicas,
  server: PostgresServer | undefined,
): Promise<readonly string[]> {
  const seed = options.number('seed');
  const random = new SeededRandom(seed);
  const began = performance.now();
  const wanted = options.number('histories');
  const send: Send = (request) => replicas.send(request, random);
  const sendOn = options.isOn('plantings') ? await sendToPlantings(send, wanted) : send;
  const workload = new Workload(seed, sendOn);
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
