import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseNumber } from '../test/proofs/proof.js';
import { PostgresServer } from '../packages/platform/src/testing/postgres-server.js';
import { type Contestant, PEERS, program, start, type Started } from './contestants.js';
import { query, readServerPid } from './databases.js';
import { measure } from './measure.js';
import {
  NEIGHBOURS,
  type Operation,
  OPERATION_NAMES,
  OPERATIONS,
  SHARED_OPERATIONS,
} from './operations.js';

const OWN_OPERATIONS = OPERATION_NAMES.filter((name) => !SHARED_OPERATIONS.includes(name));

const HELP = `Usage: npm run bench -- [operations] [options]

Measures how many requests per second Plant Store and its peers answer, side by side, and how much
processor time each request costs them. The load comes from wrk.

Operations of all (create): ${SHARED_OPERATIONS.join(' ')}
Operations of the program: ${OWN_OPERATIONS.join(' ')}

  --engine NAME        sqlite or postgres (sqlite)
  --against FOLDER     compares with another build of the program, FOLDER/dist, instead of the peers
  --replicas A,B,C     compares A, B and C replicas of the program, each on a database of their own
  --grown-to N         compares with a table of N plants
  --rows N             plants in the table at the start (200000)
  --connections N      connections to make requests on (64)
  --rounds N           rounds (5)
  --seconds N          seconds of a measured run (2)
  --help               prints this`;

const string = { type: 'string' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { ...string, default: 'sqlite' },
    against: string,
    replicas: string,
    'grown-to': string,
    rows: { ...string, default: '200000' },
    connections: { ...string, default: '64' },
    rounds: { ...string, default: '5' },
    seconds: { ...string, default: '2' },
    help: { type: 'boolean' },
  },
});
const { engine } = values;
const asked = positionals.length === 0 ? ['create'] : positionals;
const operations = OPERATION_NAMES.filter((name) => asked.includes(name));
if (values.help === true || operations.length < asked.length) {
  console.log(HELP);
  process.exit(values.help === true ? 0 : 1);
}
if (engine !== 'sqlite' && engine !== 'postgres') {
  throw new RangeError('--engine must be sqlite or postgres');
}
const options = {
  rows: parseNumber(values.rows),
  connections: parseNumber(values.connections),
  rounds: parseNumber(values.rounds),
  seconds: parseNumber(values.seconds),
};

// Runs the exit handlers, which end the programs and remove their databases.
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

// The system's temporary folder may not be on a disk.
const data = fileURLToPath(new URL('data', import.meta.url));
await mkdir(data, { recursive: true });
const folder = await mkdtemp(path.join(data, 'run-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// A PostgreSQL server runs as another user when this program runs as root.
await chmod(folder, 0o755);
process.env.TMPDIR = folder;

const [processor] = os.cpus();
const cores = `${processor?.model.trim() ?? 'unknown'}, ${os.availableParallelism()} cores`;
console.log(`${new Date().toISOString()}, Node ${process.version}, ${engine}, ${cores}`);
const server = engine === 'postgres' ? await PostgresServer.start() : undefined;

/** Creates a database for the program in this folder, and resolves with its DATABASE_URL. */
async function createDatabase(own: string): Promise<string> {
  if (server === undefined) return `sqlite:${own}/plants.db`;
  const name = path.basename(own);
  await query(server.url(), `CREATE DATABASE "${name}"`);
  return server.url(name);
}

const hasNeighbours = operations.some((name) => {
  const { path, beside }: Operation = OPERATIONS[name];
  return path === NEIGHBOURS || beside?.path === NEIGHBOURS;
});
const build = (title: string, folder?: string): Contestant => program(title, folder, hasNeighbours);

/** The first one is the program: ratios are relative to it. */
function listContestants(): readonly Contestant[] {
  const { against, replicas, 'grown-to': grown } = values;
  if (against !== undefined) return [build('this build'), build('the other build', against)];
  if (replicas !== undefined) {
    const counts = replicas.split(',');
    return counts.map((count) => ({ ...build(`replicas: ${count}`), count: parseNumber(count) }));
  }
  if (grown !== undefined) {
    return [{ ...build(`${grown} plants`), rows: parseNumber(grown) }, build('the other table')];
  }
  return [build('Plant Store'), ...PEERS[engine as keyof typeof PEERS]];
}

try {
  const serverPid = server && (await readServerPid(server.url()));
  const started: Started[] = [];
  for (const contestant of listContestants()) {
    if (!operations.some((name) => contestant.operations.includes(name))) continue;
    const own = await mkdtemp(path.join(folder, 'contestant-'));
    started.push(await start(contestant, own, await createDatabase(own), options.rows));
  }
  const faults: string[] = [];
  for (const name of operations) {
    const able = started.filter((one) => one.operations.includes(name));
    faults.push(...(await measure(name, able, { ...options, serverPid })));
  }
  for (const { stop } of started.flatMap(({ replicas }) => replicas)) await stop();
  if (faults.length === 0) console.log('\nEvery acknowledged change is stored, and nothing else.');
  for (const fault of faults) console.error(`FAILED: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
} finally {
  await server?.remove();
}
