import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../test/support/free-port.js';
import { ask } from './answers.js';
import type { Contestant } from './contestants.js';
import { PLANT, TOKEN } from './operations.js';

/** The unit of times in /proc. */
const CLOCK_TICK_US = 10_000;
/** How long a program may take to answer its first create, in milliseconds. */
const PATIENCE = 60_000;

/** A started program. It has created one plant. */
export interface Server {
  readonly origin: string;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a contestant in its folder, where it writes its log to a file, and creates a plant.
 *
 * @param id of the plant
 * @throws Error when it does not start
 */
export async function start(
  { title, args }: Contestant,
  folder: string,
  url: string,
  id: number,
): Promise<Server> {
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
      TSX_TSCONFIG_PATH: fileURLToPath(new URL('../tsconfig.json', import.meta.url)),
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
  const deadline = performance.now() + PATIENCE;
  while (performance.now() < deadline && child.exitCode === null) {
    const answer = await ask(origin, 'POST', '/plants', { id, ...PLANT }).catch(() => undefined);
    if (answer?.status === 200) return { origin, pid: child.pid ?? NaN, stop };
    await sleep(10);
  }
  throw new Error(`${title} does not start:\n${await readFile(logFile, 'utf8')}`);
}

/** Reads the processor time of a process, in microseconds (Linux only). */
export async function readProcessorUs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, which comes before, may have spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_US;
}
