import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { program } from './contestants.js';
import { openSqlite } from './engines.js';
import { sendRequests, type Tally } from './load.js';
import { startFilled } from './measure.js';
import { OPERATIONS } from './operations.js';
import { readProcessorUs } from './server.js';
import { formatNumber, printTable } from './statistics.js';

// Prints where the processor time of a create, a read and a page goes.

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const ROWS = 100_000;
const CONNECTIONS = 64;
const WARM_UP = 2;
const SECONDS = 8;
/** From each sample to the next one, in microseconds. */
const INTERVAL = 200;

/** The parts of the work, by the files of their code. The first match counts. */
const PARTS: readonly (readonly [RegExp, string])[] = [
  [/\/dist\/platform\/observability\/|\/node_modules\/(pino|prom-client)\//, 'log, metrics'],
  [/\/dist\/platform\/auth\//, 'token'],
  [/\/dist\/platform\/(requests|json|validation)\//, 'body, parameters'],
  [/\/dist\/platform\/database\/|\/node_modules\/(sqlite3|typeorm)\//, 'store'],
  [/\/dist\//, 'answer, handler'],
  [/\/node_modules\//, 'Nest, Express'],
  [/^node:(net|internal\/stream)/, 'sockets'],
  [/^node:/, 'HTTP and the rest of Node'],
];

interface Call {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

interface Profile {
  readonly nodes: readonly Call[];
  readonly samples: readonly number[];
  /** Microseconds from each sample to the next one. */
  readonly timeDeltas: readonly number[];
  /** Microseconds of the monotonic clock, like `process.hrtime()`. */
  readonly startTime: number;
}

/** Adds up the microseconds of each part between two times. */
function addUp(profile: Profile, from: number, to: number): Map<string, number> {
  const calls = new Map(profile.nodes.map((call) => [call.id, call]));
  const parts = new Map<number, string>();
  // A call without a file, such as a system call, is work of its caller.
  const nameParts = (call: Call | undefined, caller: string): void => {
    if (call === undefined) return;
    const { functionName, url } = call.callFrame;
    const known = PARTS.find(([pattern]) => pattern.test(url))?.[1];
    const part = known ?? (functionName.startsWith('(') ? functionName : caller);
    parts.set(call.id, part);
    for (const child of call.children ?? []) nameParts(calls.get(child), part);
  };
  nameParts(profile.nodes[0], '');

  const sums = new Map<string, number>();
  let time = profile.startTime;
  profile.samples.forEach((id, index) => {
    const delta = profile.timeDeltas[index] ?? 0;
    time += delta;
    const part = parts.get(id) ?? '';
    if (time > from && time < to) sums.set(part, (sums.get(part) ?? 0) + delta);
  });
  return sums;
}

/** Returns the microseconds of each part per request, and those of the whole process. */
async function profile(name: 'create' | 'read' | 'page'): Promise<Map<string, number>> {
  const contestant = program('Plant Store');
  const args = ['--cpu-prof', `--cpu-prof-interval=${INTERVAL}`, ...contestant.args];
  const options = { folder: here('data'), rows: ROWS };
  const started = await startFilled({ ...contestant, args }, openSqlite(), options);
  const { folder, server } = started;
  const ids = name === 'create' ? started.newIds : { next: 0, rows: ROWS };
  const send = (seconds: number): Promise<Tally> =>
    sendRequests(server.origin, OPERATIONS[name], ids, CONNECTIONS, seconds);
  await send(WARM_UP);
  const from = Number(process.hrtime.bigint() / 1_000n);
  const before = await readProcessorUs(server.pid);
  const { acknowledged } = await send(SECONDS);
  const used = (await readProcessorUs(server.pid)) - before;
  const to = Number(process.hrtime.bigint() / 1_000n);
  await server.stop();
  const files = (await readdir(folder)).filter((file) => file.endsWith('.cpuprofile'));
  // The names begin with the time, and the first start has written a profile too.
  const text = await readFile(path.join(folder, files.sort().at(-1) ?? ''), 'utf8');
  await rm(folder, { recursive: true });
  const sums = addUp(JSON.parse(text) as Profile, from, to);
  sums.set('whole process', used);
  return new Map([...sums].map(([part, us]) => [part, us / acknowledged]));
}

await mkdir(here('data'), { recursive: true });
const names = ['create', 'read', 'page'] as const;
const profiles: Map<string, number>[] = [];
for (const name of names) profiles.push(await profile(name));
const parts = [
  ...PARTS.map(([, part]) => part),
  '(garbage collector)',
  '(program)',
  'whole process',
];
printTable(
  `Microseconds per request, Node ${process.version}`,
  ['', ...names],
  parts.map((part) => [part, ...profiles.map((sums) => formatNumber(sums.get(part) ?? 0, 1))]),
);
