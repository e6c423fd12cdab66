import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { Profiler } from 'node:inspector';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { program, readProcessorUs, start } from './contestants.js';
import { send } from './load.js';
import { OPERATIONS } from './operations.js';

// Prints where the processor time of a create, a read and a page goes.

const DATA = fileURLToPath(new URL('data', import.meta.url));
const NAMES = ['create', 'read', 'page'] as const;
const ROWS = 100_000;
const CONNECTIONS = 64;
const WARM_UP = 2;
const SECONDS = 8;
/** From each sample to the next one, in microseconds. */
const INTERVAL = 200;

/** The parts of the work, by the files of their code. The first match counts. */
const PARTS: readonly (readonly [RegExp, string])[] = [
  [/\/platform\/dist\/observability\/|\/node_modules\/(pino|prom-client)\//, 'log, metrics'],
  [
    /\/platform\/dist\/(auth|requests|validation)\/|\/store\/dist\/json\//,
    'token, body, parameters',
  ],
  [/\/store\/dist\/|\/node_modules\/(sqlite3|typeorm)\//, 'store'],
  [/\/dist\/|\/node_modules\//, 'Nest, Express, handler'],
  [/^node:(net|internal\/stream)/, 'sockets'],
  [/^node:/, 'HTTP and the rest of Node'],
];
const MEASURED = [...PARTS.map(([, part]) => part), '(garbage collector)'];
/** The time of other threads, and of native code that JavaScript has not called. */
const REST = 'native code, other threads';
const PRINTED = [...MEASURED, REST, 'whole process'];

/** Adds up the microseconds of each part between two times. */
function addUp(profile: Profiler.Profile, from: number, to: number): Map<string, number> {
  const parts = new Map<number, string>();
  // A call comes before those that it makes.
  for (const { id, callFrame, children = [] } of profile.nodes) {
    const { functionName, url } = callFrame;
    const known = PARTS.find(([pattern]) => pattern.test(url))?.[1];
    // A call without a file, such as a system call, is work of its caller.
    const part = known ?? (functionName.startsWith('(') ? functionName : (parts.get(id) ?? ''));
    for (const one of [id, ...children]) parts.set(one, part);
  }
  const sums = new Map<string, number>();
  // Microseconds of the monotonic clock, like `process.hrtime()`.
  let time = profile.startTime;
  const { samples = [], timeDeltas = [] } = profile;
  for (const [index, id] of samples.entries()) {
    const delta = timeDeltas[index] ?? 0;
    time += delta;
    const part = parts.get(id) ?? '';
    if (time > from && time < to) sums.set(part, (sums.get(part) ?? 0) + delta);
  }
  return sums;
}

/** Returns the microseconds of each part per request, and those of the whole process. */
async function profile(name: (typeof NAMES)[number]): Promise<Map<string, number>> {
  const folder = await mkdtemp(path.join(DATA, 'profile-'));
  const contestant = program('Plant Store');
  const args = ['--cpu-prof', `--cpu-prof-interval=${INTERVAL}`, ...contestant.args];
  const url = `sqlite:${folder}/plants.db`;
  const { replicas } = await start({ ...contestant, args }, folder, url, ROWS);
  const { origin, pid, newIds, stop } = replicas[0];
  const ids = name === 'create' ? newIds : { next: 0, rows: ROWS };
  await send(origin, OPERATIONS[name], ids, CONNECTIONS, WARM_UP);
  const from = Number(process.hrtime.bigint() / 1_000n);
  const before = await readProcessorUs(pid);
  const { acknowledged } = await send(origin, OPERATIONS[name], ids, CONNECTIONS, SECONDS);
  const used = (await readProcessorUs(pid)) - before;
  const to = Number(process.hrtime.bigint() / 1_000n);
  await stop();
  const file = (await readdir(folder)).find((one) => one.endsWith('.cpuprofile')) ?? '';
  const text = await readFile(path.join(folder, file), 'utf8');
  await rm(folder, { recursive: true });
  const sums = addUp(JSON.parse(text) as Profiler.Profile, from, to);
  const measured = MEASURED.reduce((sum, part) => sum + (sums.get(part) ?? 0), 0);
  sums.set(REST, used - measured);
  sums.set('whole process', used);
  return new Map([...sums].map(([part, us]) => [part, us / acknowledged]));
}

await mkdir(DATA, { recursive: true });
const table: Record<string, Record<string, number>> = {};
for (const name of NAMES) {
  const sums = await profile(name);
  for (const part of PRINTED) {
    table[part] = { ...table[part], [name]: Number((sums.get(part) ?? 0).toFixed(1)) };
  }
}
console.log(`Microseconds per request, Node ${process.version}:`);
console.table(table);
