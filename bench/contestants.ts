import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../test/support/free-port.js';
import { until } from '../test/support/until.js';
import { ask, checkAnswers } from './answers.js';
import { fill } from './databases.js';
import type { Ids } from './load.js';
import { type OperationName, TOKEN } from './operations.js';

/** The unit of times in /proc. */
const CLOCK_TICK_US = 10_000;
/** Far beyond the rows of any table: the ids of creates and imports. */
const FIRST_NEW_ID = 1_000_000_000;

/** A program that is measured. It runs in a folder of its own. */
export interface Contestant {
  readonly title: string;
  /** The arguments of Node. */
  readonly args: readonly string[];
  /** An operation that it does not have. */
  readonly lacks?: OperationName;
}

export interface Started extends Contestant {
  readonly origin: string;
  readonly pid: number;
  /** The DATABASE_URL. */
  readonly url: string;
  readonly newIds: Ids;
  readonly stop: () => Promise<void>;
}

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** @param folder has the built program in dist */
export function program(title: string, folder = here('..')): Contestant {
  return { title, args: [path.resolve(folder, 'dist/main.js')] };
}

function peer(file: string, title: string): Contestant {
  return { title, args: ['--import', import.meta.resolve('tsx'), here(`peers/${file}`)] };
}

/** The program is the first: ratios are relative to it. */
export const CONTESTANTS: Readonly<Record<'sqlite' | 'postgres', readonly Contestant[]>> = {
  sqlite: [
    program('Plant Store'),
    peer('fastify.mjs', 'Fastify + better-sqlite3'),
    { ...peer('nest-typeorm.ts', 'Nest + TypeORM save()'), lacks: 'import' },
  ],
  postgres: [program('Plant Store'), peer('fastify.mjs', 'Fastify + pg')],
};

/**
 * Starts a contestant in its folder, where it writes its log to a file, and fills its table.
 *
 * @param url of an empty database
 * @throws Error when it does not start, or answers otherwise than all others
 */
export async function start(
  contestant: Contestant,
  folder: string,
  url: string,
  rows: number,
): Promise<Started> {
  const { title, args } = contestant;
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
    },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  process.on('exit', () => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) throw new Error(`${title} ended under the load`);
    child.kill('SIGTERM');
    await exited;
  };

  const origin = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) {
      throw new Error(`${title} does not start:\n${await readFile(logFile, 'utf8')}`);
    }
    return (await ask(origin, 'GET', '/plants').catch(() => undefined))?.status === 200;
  });
  await fill(url, rows);
  await checkAnswers(origin, title);
  const newIds = { next: FIRST_NEW_ID, rows: 0 };
  return { ...contestant, origin, pid: child.pid ?? NaN, url, newIds, stop };
}

/** Reads the processor time of a process, in microseconds (Linux only). */
export async function readProcessorUs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, which comes before, may have spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_US;
}
