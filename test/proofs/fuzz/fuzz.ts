import { parseArgs } from 'node:util';
import { ApiDocument } from '../../fuzz/api-document.js';
import { Api } from '../../fuzz/api.js';
import { fuzzPlants, sendRows } from '../../fuzz/fuzz.js';
import { fuzzOperations } from '../../fuzz/operations.js';
import { HttpClient } from '../../support/http/request.js';
import { freePort } from '../../../packages/platform/src/testing/free-port.js';
import { ProgramFolder } from '../../support/program.js';
import { parseNumber, type Proof, SEED } from '../proof.js';

/** Sequences of requests that have one seed. */
const RUNS = 20;

const OPTIONS = { requests: { type: 'string', default: '50000' }, ...SEED } as const;

/** Sends generated requests to the program, each of which must get the right answer. */
export default (async (args) => {
  const { values } = parseArgs({ args, options: OPTIONS });
  const [requests, firstSeed] = [parseNumber(values.requests), parseNumber(values.seed)];
  const folder = await ProgramFolder.create();
  const port = await freePort();
  const program = folder.serve({ CHANGE_FEED: 'on', LOG_LEVEL: 'error', PORT: String(port) });
  const origin = await program.ready(port);
  const client = new HttpClient(() => origin);
  const api = new Api(client.send, await ApiDocument.load(origin));
  let seed = firstSeed;
  const faults: string[] = [];
  try {
    await sendRows(api, client.send, seed);
    for (; api.requests < requests; seed++) {
      await fuzzPlants(api, client.send, { seed, numRuns: RUNS });
      await fuzzOperations(api, { seed, numRuns: 10 * RUNS });
    }
  } catch (error) {
    faults.push(`with --seed ${seed}: ${(error as Error).message}`);
  }
  client.close();
  const exitCode = await program.end();
  await folder.remove();
  for (const [answer, count] of [...api.seen].sort()) console.log(`${answer.padEnd(10)} ${count}`);
  console.log(`${api.requests} requests, the last of them with --seed ${seed - 1}`);

  const log = program.output + program.errors;
  if (exitCode !== 0) faults.push(`the program ended with exit code ${String(exitCode)}`);
  if (log !== '') faults.push(`the program logged ${log.slice(-4_000)}`);
  return faults;
}) satisfies Proof;
