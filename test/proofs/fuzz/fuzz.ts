import { setTimeout as sleep } from 'node:timers/promises';
import { ErrorCatalogue } from '../../../src/platform/errors/error-catalogue.js';
import { MALFORMED_REQUESTS } from '../../cases/malformed-http.js';
import { ApiDocument } from '../../fuzz/api-document.js';
import { describeFailure, Fuzzer } from '../../fuzz/fuzzer.js';
import { ACCESS_TOKENS } from '../../fuzz/headers.js';
import { HttpClient } from '../../support/http/client.js';
import { freePort } from '../../support/free-port.js';
import { listAnswers, exchange } from '../../support/http/connection.js';
import { inNewFolder } from '../../support/new-folder.js';
import { setup, teardown } from '../../support/postgres-setup.js';
import { Program } from '../../support/program.js';
import { SeededRandom } from '../../support/seeded-random.js';
import { TestStore } from '../../support/test-store.js';
import { BUILD, ENGINE, type Proof, type ProofOptions, SEED } from '../proof.js';
import { ConnectionFuzzer } from './connection-fuzzer.js';
import { Watch } from './watch.js';

/** In runs of this many requests or more, the memory may grow by this much, in percent. */
const LONG_RUN = 1_000_000;
const MAX_GROWTH = 5;

export default {
  summary: 'sends generated requests to the program, each of which must get the right answer',
  takes: '1 min for 100000 requests',
  before: BUILD,
  options: {
    requests: { summary: 'how many requests', default: '100000' },
    workers: { summary: 'on how many connections', default: '64' },
    ...ENGINE,
    ...SEED,
  },
  run: async (options) => {
    const { engine } = options;
    if (engine === 'postgres') await setup();
    const store = await TestStore.create(engine);
    try {
      return await inNewFolder((folder) => fuzz(options, store, folder));
    } finally {
      await store.remove();
      await teardown();
    }
  },
} satisfies Proof;

async function fuzz(options: ProofOptions, store: TestStore, folder: string): Promise<string[]> {
  const requests = options.number('requests');
  const workers = options.number('workers');
  const seed = options.number('seed');
  console.log(`seed ${seed}, ${requests} requests, ${workers} connections`);
  const port = await freePort();
  const program = Program.start(folder, {
    ACCESS_TOKENS,
    DATABASE_URL: store.url,
    LOG_LEVEL: 'error',
    NODE_ENV: 'production',
    PORT: String(port),
  });
  const url = new URL(`http://127.0.0.1:${port}`);
  await untilReady(url, program);
  const document = await ApiDocument.load(url);
  const fuzzer = new Fuzzer(document, seed, () => new HttpClient(url), workers);
  const watch = await Watch.start(fuzzer, program, workers + ConnectionFuzzer.MOST);
  const others = new ConnectionFuzzer(
    port,
    fuzzer.getModel('/plants'),
    new SeededRandom(seed),
    () => fuzzer.freshId(),
  );
  const failure = await fuzzer.run(requests);
  await others.stop();
  fuzzer.close();
  await watch.stop();
  console.log(
    `${others.connections} connections used otherwise than for one request after another`,
  );
  const misanswered = await sendMalformed(port);
  printSeen(fuzzer);
  const growth = watch.printMemory();
  program.kill('SIGTERM');
  const exitCode = await program.exited();

  const log = program.output + program.errors;
  if (failure !== undefined) return [`${describeFailure(failure)}\nlog: ${log.slice(-4_000)}`];
  const faults = [...others.faults, ...watch.faults, ...misanswered];
  if (requests >= LONG_RUN && growth > MAX_GROWTH) faults.push('resident memory grew too much');
  if (exitCode !== 0) faults.push(`the program ended with exit code ${String(exitCode)}`);
  if (log !== '') faults.push(`the program logged ${log.slice(-4_000)}`);
  return faults;
}

/** Waits for an answer, since its log contains only errors and not that it listens. */
async function untilReady(url: URL, program: Program): Promise<void> {
  const isReady = (): Promise<boolean> =>
    fetch(new URL('/health/ready', url)).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (program.hasExited) throw new Error(`The program did not start: ${program.errors}`);
    await sleep(50);
  }
}

/** Sends input that fuzzed requests cannot contain: it is not HTTP, or does not arrive in time. */
async function sendMalformed(port: number): Promise<string[]> {
  const slow = { what: 'half a request', request: 'POST /pla', error: 'REQUEST_TIMEOUT' } as const;
  const faults: string[] = [];
  for (const { what, request, error: name } of [...MALFORMED_REQUESTS, slow]) {
    const [answer] = listAnswers(await exchange(port, request));
    const { error } = JSON.parse(answer?.body ?? '{}') as { error?: number };
    if (error !== ErrorCatalogue[name].error) faults.push(`${what}: ${String(error)}`);
  }
  return faults;
}

function printSeen({ seen, missed }: Fuzzer): void {
  const answers = [...seen].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [answer, count] of answers) console.log(`${answer.padEnd(10)} ${count}`);
  console.log(`operations that were never carried out: ${missed.join(', ') || 'none'}`);
}
