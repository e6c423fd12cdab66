import { ErrorCatalogue } from '../../../src/platform/errors/error-catalogue.js';
import { MALFORMED_REQUESTS } from '../../cases/malformed-http.js';
import { setup, teardown } from '../../support/postgres-setup.js';
import { exchange, parseAnswer } from '../../support/raw-http.js';
import { TestStore } from '../../support/test-store.js';
import { ApiDocument } from '../../fuzz/api-document.js';
import { Choices } from '../../fuzz/choices.js';
import { describeFailure, Fuzzer } from '../../fuzz/fuzzer.js';
import { HttpClient } from '../../fuzz/http-client.js';
import { ConnectionFuzzer } from './connection-fuzzer.js';
import { BUILD, ENGINE, type Proof, type ProofOptions, SEED } from '../proof.js';
import { ServiceProcess } from './service-process.js';
import { auditStore } from '../../fuzz/store-audit.js';
import { Watch } from './watch.js';

/** From this many requests on, more growth than this, in percent, is a failure. */
const LONG_RUN = 1_000_000;
const MAX_GROWTH = 5;

export default {
  summary: 'sends made-up requests to the program, each of which must get the right answer',
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
    const service = await ServiceProcess.start(store);
    try {
      return await fuzz(options, store, service);
    } finally {
      await service.stop();
      await store.remove();
      await teardown();
    }
  },
} satisfies Proof;

async function fuzz(
  options: ProofOptions,
  store: TestStore,
  service: ServiceProcess,
): Promise<string[]> {
  const requests = options.number('requests');
  const workers = options.number('workers');
  const seed = options.number('seed');
  console.log(`seed ${seed}, ${requests} requests, ${workers} connections`);
  const document = await ApiDocument.load(service.url);
  const fuzzer = new Fuzzer(document, seed, () => new HttpClient(service.url), workers);
  const watch = await Watch.start(fuzzer, service, workers + ConnectionFuzzer.MOST);
  const port = Number(service.url.port);
  const freshId = (): bigint => fuzzer.freshId(seed);
  const others = new ConnectionFuzzer(port, fuzzer.model, new Choices(seed), freshId);
  const failure = await fuzzer.run(requests);
  await others.stop();
  fuzzer.close();
  await watch.stop();
  console.log(
    `${others.connections} connections used otherwise than for one request after another`,
  );
  const misanswered = await sendMalformed(fuzzer, port);
  printSeen(fuzzer, document);
  const growth = watch.printMemory();

  if (failure !== undefined) return [describeFailure(failure)];
  const faults = [
    ...others.faults,
    ...watch.faults,
    ...misanswered,
    ...(await afterwards(fuzzer, store, service)),
  ];
  if (requests >= LONG_RUN && growth > MAX_GROWTH) faults.push('resident memory grew too much');
  return faults;
}

/** What fuzzed requests cannot hold: that which is not HTTP, or does not arrive in time. */
async function sendMalformed(fuzzer: Fuzzer, port: number): Promise<string[]> {
  const slow = { what: 'half a request', request: 'POST /pla', error: 'REQUEST_TIMEOUT' } as const;
  const faults: string[] = [];
  for (const { what, request, error: name } of [...MALFORMED_REQUESTS, slow]) {
    const { status, body } = parseAnswer(await exchange(port, request));
    const { error } = JSON.parse(body) as { error: number };
    const answer = `${status} ${error}`;
    fuzzer.seen.set(answer, (fuzzer.seen.get(answer) ?? 0) + 1);
    const expected = ErrorCatalogue[name].error;
    if (answer !== `${Math.floor(expected / 100)} ${expected}`) faults.push(`${what}: ${answer}`);
  }
  return faults;
}

/** What is to be seen only once the service has stopped. */
async function afterwards(
  fuzzer: Fuzzer,
  store: TestStore,
  service: ServiceProcess,
): Promise<string[]> {
  const exitCode = await service.stop();
  const faults = await auditStore(store.url, fuzzer.model);
  console.log(`plants stored: ${fuzzer.model.size}, faults in the store: ${faults.length}`);
  if (exitCode !== 0) faults.push(`the service ended with exit code ${String(exitCode)}`);
  if (service.complaints !== '') faults.push(`the service logged errors:\n${service.complaints}`);
  return faults;
}

function printSeen(fuzzer: Fuzzer, document: ApiDocument): void {
  const answers = [...fuzzer.seen].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [answer, count] of answers) console.log(`${answer.padEnd(10)} ${count}`);
  const statuses = new Set(answers.map(([answer]) => Number(answer.slice(0, 3))));
  const documented = document.operations.flatMap(({ responses }) => [...responses.keys()]);
  const unseen = [...new Set(documented)].filter((status) => !statuses.has(status));
  // 500 takes a bug and 503 a store that fails: documented-errors.e2e-spec.ts causes both.
  console.log(`documented and not seen: ${unseen.join(', ') || 'none'}`);
}
