import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Choices } from '../fuzz/choices.js';
import { ACCESS_TOKENS } from '../fuzz/headers.js';
import { HttpClient } from '../fuzz/http-client.js';
import { createOf } from '../fuzz/requests.js';
import { eachRow } from '../fuzz/store-audit.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Program } from '../support/program.js';
import { type Entry, faultsOf } from './neighbours.js';

// npm run test:neighbours -- --engine postgres --seconds 4 --kills 10 --seed 1
//
// Creates beside transactions and saves in the same program: what they cost the creates, that nobody
// waits long, and that nothing acknowledged is lost, also when the program is killed.

const PROGRAM = fileURLToPath(new URL('program.ts', import.meta.url));
const CONNECTIONS = 32;
const LONGEST_WAIT_MS = 2_000;
/** Creates keep at least this part of their rate alone. */
const LEAST_SHARE = 0.25;
/** The first id of the neighbours, far from those of the creates; every start has its own. */
const NEIGHBOUR_IDS = 1_000_000_000;

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    seconds: { type: 'string', default: '4' },
    kills: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
  },
});
const choices = new Choices(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'plant-store-neighbours-'));
const server = values.engine === 'postgres' ? await PostgresServer.start() : undefined;
const storeUrl = server?.url() ?? `sqlite:${join(folder, 'plants.db')}`;

const entries: Entry[] = [];
const acknowledged = new Set<number>();
let lastId = 0;
let starts = 0;

console.log(`${values.engine}, seed ${values.seed}, ${CONNECTIONS} connections`);
try {
  const shares: number[] = [];
  for (let round = 1; round <= 3; round++) {
    const alone = await measure(false);
    const beside = await measure(true);
    shares.push(beside.rate / alone.rate);
    console.log(
      `round ${round}: ${alone.rate.toFixed(0)} creates/s alone, ${beside.rate.toFixed(0)} beside neighbours, the longest ${beside.longest.toFixed(0)} ms`,
    );
    expect(beside.longest < LONGEST_WAIT_MS, 'a create waited too long');
  }
  const share = shares.sort((a, b) => a - b)[1] ?? 0;
  expect(share >= LEAST_SHARE, `creates kept ${share.toFixed(2)} of their rate`);
  const longest = Math.max(...entries.map(({ took }) => took));
  expect(longest < LONGEST_WAIT_MS, `a transaction or a save took ${longest.toFixed(0)} ms`);

  for (let kill = 1; kill <= Number(values.kills); kill++) await killUnderLoad(kill);
  await audit();
} finally {
  rmSync(folder, { recursive: true });
  await server?.remove();
}

/** Creates for some seconds. */
async function measure(hasNeighbours: boolean): Promise<{ rate: number; longest: number }> {
  const program = await start(hasNeighbours);
  const url = new URL(await program.listening());
  const before = acknowledged.size;
  const end = performance.now() + Number(values.seconds) * 1_000;
  const longest = await load(url, () => performance.now() < end);
  const rate = (acknowledged.size - before) / Number(values.seconds);
  program.kill('SIGTERM');
  await program.exited();
  collect(program);
  return { rate, longest };
}

async function killUnderLoad(kill: number): Promise<void> {
  const program = await start(true);
  const url = new URL(await program.listening());
  const ended = load(url, () => true);
  const delay = choices.below(1_500);
  await sleep(delay);
  program.kill('SIGKILL');
  await program.exited();
  await ended;
  collect(program);
  console.log(`kill ${kill} after ${delay} ms: ${acknowledged.size} creates acknowledged so far`);
}

function start(hasNeighbours: boolean): Promise<Program> {
  const env = {
    ACCESS_TOKENS,
    DATABASE_URL: storeUrl,
    LOG_LEVEL: 'silent',
    ...(hasNeighbours && { FIRST_ID: String(NEIGHBOUR_IDS + 1_000_001 * ++starts) }),
  };
  return Promise.resolve(Program.startScript(folder, env, PROGRAM));
}

/** Takes note of what the neighbours reported; a killed one may have broken off in a line. */
function collect({ output }: Program): void {
  const lines = output.split('\n').slice(0, -1);
  entries.push(
    ...lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Entry),
  );
}

/** Creates plants on some connections, and resolves with the longest that one took, in milliseconds. */
async function load(url: URL, goesOn: () => boolean): Promise<number> {
  let longest = 0;
  const create = async (): Promise<void> => {
    const client = new HttpClient(url);
    while (goesOn()) {
      const id = ++lastId;
      const began = performance.now();
      const { request } = createOf({ id: BigInt(id), name: `plant ${id}` });
      const answer = await client.send(request).catch(() => undefined);
      if (answer === undefined) break;
      longest = Math.max(longest, performance.now() - began);
      if (answer.status === 200) acknowledged.add(id);
    }
    client.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, create));
  return longest;
}

async function audit(): Promise<void> {
  const names = new Map<string, string>();
  await eachRow(storeUrl, ({ id, name }) => names.set(id, name));
  const lost = [...acknowledged].filter((id) => names.get(String(id)) !== `plant ${id}`);
  const faults = [...lost.map((id) => `plant ${id} is lost`), ...faultsOf(entries, names)];
  const count = (kind: Entry['kind']): number =>
    entries.filter((entry) => entry.kind === kind).length;
  console.log(
    `${acknowledged.size} creates acknowledged, ${count('committed')} transactions committed, ${count('rolled back')} rolled back, ${count('saved')} saves: ${faults.length} faults`,
  );
  for (const fault of faults.slice(0, 10)) expect(false, fault);
}

function expect(holds: boolean, fault: string): void {
  if (holds) return;
  console.error(`FAILED: ${fault}`);
  process.exitCode = 1;
}
