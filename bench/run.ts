import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parseNumber } from '../test/proofs/proof.js';
import { showProgress } from '../packages/platform/src/observability/progress.js';
import { PostgresServer } from '../packages/platform/src/testing/postgres-server.js';
import { type Contestant, PEERS, program, start, type Started } from './contestants.js';
import { query, readServerPid, readVersion } from './databases.js';
import { measure, type Options, printTable } from './measure.js';
import {
  NEIGHBOURS,
  type Operation,
  type OperationName,
  OPERATION_NAMES,
  OPERATIONS,
  SHARED_OPERATIONS,
} from './operations.js';
import {
  COMPARED,
  DISTURBANCES,
  type Engine,
  LOADS,
  type Measurement,
  type Part,
  PROGRAM,
  writeResults,
} from './results.js';
import { writeFigures } from './write-figures.js';

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
  --publish            measures what docs/performance.md shows, on both engines, and writes
                       bench/results.json, the charts and the tables of the document
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
    publish: { type: 'boolean', default: false },
    help: { type: 'boolean' },
  },
});
const { engine, publish } = values;
const asked = positionals.length === 0 ? ['create'] : positionals;
const operations = OPERATION_NAMES.filter((name) => asked.includes(name));
if (values.help === true || operations.length < asked.length) {
  console.log(HELP);
  process.exit(values.help === true ? 0 : 1);
}
if (engine !== 'sqlite' && engine !== 'postgres') {
  throw new RangeError('--engine must be sqlite or postgres');
}
const settings = {
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

/** Operations that are measured of the same contestants. */
interface Session {
  readonly part: Part;
  readonly engine: Engine;
  readonly contestants: readonly Contestant[];
  /** Each with its number of connections. */
  readonly steps: readonly (readonly [OperationName, number])[];
}

/** @param operations decide whether the program has the module that disturbs others */
function build(title: string, operations: readonly OperationName[], folder?: string): Contestant {
  const hasNeighbours = operations.some((name) => {
    const { path, beside }: Operation = OPERATIONS[name];
    return path === NEIGHBOURS || beside?.path === NEIGHBOURS;
  });
  return program(title, folder, hasNeighbours);
}

/** The first one is the program: ratios are relative to it. */
function listContestants(): readonly Contestant[] {
  const { against, replicas, 'grown-to': grown } = values;
  const make = (title: string, folder?: string): Contestant => build(title, operations, folder);
  if (against !== undefined) return [make('this build'), make('the other build', against)];
  if (replicas !== undefined) {
    const counts = replicas.split(',');
    return counts.map((count) => ({ ...make(`replicas: ${count}`), count: parseNumber(count) }));
  }
  if (grown !== undefined) {
    return [{ ...make(`${grown} plants`), rows: parseNumber(grown) }, make('the other table')];
  }
  return [make(PROGRAM), ...PEERS[engine as Engine]];
}

/** What the documents show of an engine: the peers, the load, and what disturbs creates. */
function listPublished(engine: Engine): Session[] {
  const { connections } = settings;
  const on = (name: OperationName): [OperationName, number] => [name, connections];
  // Each disturbance follows creates that nothing disturbs, with which it is compared.
  const disturbed = (Object.keys(DISTURBANCES) as OperationName[]).flatMap((name) => [
    on('create'),
    on(name),
  ]);
  const session = (part: Part, steps: Session['steps'], peers: readonly Contestant[]): Session => {
    const own = build(
      PROGRAM,
      steps.map(([name]) => name),
    );
    return { part, engine, contestants: [own, ...peers], steps };
  };
  return [
    session('peers', COMPARED.map(on), PEERS[engine]),
    session(
      'load',
      LOADS.map((load) => ['create', load]),
      [],
    ),
    session('disturbed', disturbed, []),
  ];
}

const sessions: Session[] = publish
  ? [...listPublished('sqlite'), ...listPublished('postgres')]
  : [
      {
        part: 'asked',
        engine,
        contestants: listContestants(),
        steps: operations.map((name) => [name, settings.connections]),
      },
    ];

const canDo = ({ operations }: Contestant, name: OperationName): boolean =>
  operations.includes(name);
const runs = sessions.flatMap(({ contestants, steps }) =>
  steps.flatMap(([name]) => contestants.filter((one) => canDo(one, name))),
);
const total = runs.length * (settings.rounds + 1);
let done = 0;
const began = performance.now();

const measurements: Measurement[] = [];
const faults: string[] = [];
const versions = { sqlite: '', postgres: '' };

async function runSession({ part, engine, contestants, steps }: Session): Promise<void> {
  const server = engine === 'postgres' ? await PostgresServer.start() : undefined;
  try {
    const started: Started[] = [];
    for (const contestant of contestants) {
      if (!steps.some(([name]) => canDo(contestant, name))) continue;
      const own = await mkdtemp(path.join(folder, 'contestant-'));
      const url = await createDatabase(own, server);
      started.push(await start(contestant, own, url, settings.rows));
    }
    versions[engine] = await readVersion(started[0]?.url ?? '');
    const serverPid = server && (await readServerPid(server.url()));
    for (const [name, connections] of steps) {
      const able = started.filter((one) => canDo(one, name));
      const onRun = (): void => {
        done++;
      };
      const options: Options = { ...settings, part, engine, connections, serverPid, onRun };
      const work = measure(name, able, options);
      const outcome = await showProgress(name, () => ({ done, total, unit: 'runs' }), work, began);
      printTable(outcome.measurements, options);
      measurements.push(...outcome.measurements);
      faults.push(...outcome.faults);
    }
    for (const { stop } of started.flatMap(({ replicas }) => replicas)) await stop();
  } finally {
    await server?.remove();
  }
}

/** Creates a database for a contestant in its folder, and resolves with its DATABASE_URL. */
async function createDatabase(own: string, server: PostgresServer | undefined): Promise<string> {
  if (server === undefined) return `sqlite:${own}/plants.db`;
  const name = path.basename(own);
  await query(server.url(), `CREATE DATABASE "${name}"`);
  return server.url(name);
}

const date = new Date().toISOString();
const [processor] = os.cpus();
const machine = `${processor?.model.trim() ?? 'unknown'}, ${os.availableParallelism()} cores`;
console.log(`${date}, Node ${process.version}, ${machine}`);
for (const session of sessions) await runSession(session);

if (faults.length === 0) console.log('\nEvery acknowledged change is stored, and nothing else.');
for (const fault of faults) console.error(`FAILED: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else if (publish) {
  const { rows, seconds } = settings;
  writeResults({ date, machine, node: process.version, versions, rows, seconds, measurements });
  writeFigures();
}
