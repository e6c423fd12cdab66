import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../packages/platform/src/testing/free-port.js';
import { until } from '../packages/platform/src/testing/until.js';
import { ask, checkAnswers } from './answers.js';
import { fill } from './databases.js';
import type { Ids } from './load.js';
import { OPERATION_NAMES, type OperationName, SHARED_OPERATIONS, TOKEN } from './operations.js';

/** The unit of times in /proc. */
const CLOCK_TICK_US = 10_000;
/** The ids of creates and imports of a replica: far beyond the rows of any table. */
const NEW_IDS = 1_000_000_000;

/** A program that is measured. It runs in a folder of its own. */
export interface Contestant {
  readonly title: string;
  /** The arguments of Node. */
  readonly args: readonly string[];
  readonly operations: readonly OperationName[];
  /** The number of its processes; 1 by default. */
  readonly count?: number;
  /** The plants in its table at the start, in place of the number that the caller asks for. */
  readonly rows?: number;
  /** Further variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A running process of a contestant. */
export interface Replica {
  readonly origin: string;
  readonly pid: number;
  /** The ids of its creates. */
  readonly newIds: Ids;
  readonly stop: () => Promise<void>;
}

export interface Started extends Contestant {
  /** They share one database. */
  readonly replicas: readonly [Replica, ...Replica[]];
  /** The DATABASE_URL. */
  readonly url: string;
  /** The plants in its table at the start. */
  readonly rows: number;
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/**
 * @param folder has the built program in dist
 * @param hasNeighbours adds a module whose transactions and reads disturb others
 */
export function program(title: string, folder = here('..'), hasNeighbours = false): Contestant {
  const main = path.resolve(folder, 'dist/main.js');
  const args = hasNeighbours ? ['--import', here('neighbours.mjs'), main] : [main];
  return { title, args, operations: OPERATION_NAMES };
}

/**
 * @param work `minimal` is what the answers need. The same work as the program's is also the indexes
 *   of its lists, a log line for each request, and request ids.
 */
function peer(file: string, title: string, work: 'same work' | 'minimal'): Contestant {
  return {
    title: `${title}, ${work}`,
    args: ['--import', import.meta.resolve('tsx'), here(`peers/${file}`)],
    operations: SHARED_OPERATIONS,
    env: { WORK: work },
  };
}

const fastify = (driver: string): Contestant[] => [
  peer('fastify.mjs', `Fastify + ${driver}`, 'same work'),
  peer('fastify.mjs', `Fastify + ${driver}`, 'minimal'),
];

export const PEERS: Readonly<Record<'sqlite' | 'postgres', readonly Contestant[]>> = {
  sqlite: [
    ...fastify('better-sqlite3'),
    {
      ...peer('nest-typeorm.ts', 'Nest + TypeORM save()', 'minimal'),
      operations: SHARED_OPERATIONS.filter((name) => name !== 'import'),
    },
  ],
  postgres: fastify('pg'),
};

/**
 * Starts the replicas of a contestant in its folder, where they write their log to a file, and fills
 * its table.
 *
 * @param url of an empty database
 * @param rows the plants in its table
 * @throws Error when it does not start, or answers otherwise than all others
 */
export async function start(
  contestant: Contestant,
  folder: string,
  url: string,
  rows: number,
): Promise<Started> {
  const replicas: [Replica, ...Replica[]] = [await startReplica(contestant, folder, url, NEW_IDS)];
  for (let place = 2; place <= (contestant.count ?? 1); place++) {
    replicas.push(await startReplica(contestant, folder, url, place * NEW_IDS));
  }
  const own = contestant.rows ?? rows;
  await fill(url, own);
  for (const { origin } of replicas) await checkAnswers(origin, contestant.title);
  return { ...contestant, replicas, url, rows: own };
}

async function startReplica(
  { title, args, env }: Contestant,
  folder: string,
  url: string,
  firstNewId: number,
): Promise<Replica> {
  const port = await freePort();
  const logFile = path.join(folder, 'log');
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, args, {
    cwd: folder,
    // Each contestant takes what it needs. The settings of the caller are not passed on.
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      PORT: String(port),
      ACCESS_TOKENS: TOKEN,
      DATABASE_URL: url,
      TSX_TSCONFIG_PATH: here('../tsconfig.json'),
      ...env,
    },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) throw new Error(`${title} ended under the load`);
    child.kill('SIGTERM');
    await exited;
    process.off('exit', kill);
  };

  const origin = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) {
      throw new Error(`${title} does not start:\n${await readFile(logFile, 'utf8')}`);
    }
    return (await ask(origin, 'GET', '/plants').catch(() => undefined))?.status === 200;
  });
  return { origin, pid: child.pid ?? NaN, newIds: { next: firstNewId, rows: 0 }, stop };
}

/**
 * Reads the processor time of a process, in microseconds (Linux only).
 *
 * @param part its own time, or that of its children that have ended
 */
export async function readProcessorUs(
  pid: number | string,
  part: 'own' | 'ended' = 'own',
): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, which comes before, may have spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const place = part === 'own' ? 11 : 13;
  return (Number(fields[place]) + Number(fields[place + 1])) * CLOCK_TICK_US;
}

/** Reads the processor time of a process and all its children, in microseconds. */
export async function readTreeUs(pid: string): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const times = [readProcessorUs(pid), readProcessorUs(pid, 'ended')];
  // The time of a child that ends meanwhile is among that of the ended ones.
  for (const child of children.match(/\d+/g) ?? [])
    times.push(readProcessorUs(child).catch(() => 0));
  return (await Promise.all(times)).reduce((sum, us) => sum + us, 0);
}
