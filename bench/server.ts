import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/support/free-port.js';
import { ask } from './answers.js';
import { type Contestant, makeEnvironment } from './contestants.js';
import { PLANT } from './operations.js';

/** How long a program may take to answer its first create, or to stop, in milliseconds. */
const PATIENCE = 60_000;

/** A contestant does not work as expected. */
export class ContestantError extends Error {}

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
 */
export async function start(
  contestant: Contestant,
  folder: string,
  url: string,
  id: number,
): Promise<Server> {
  const port = await freePort();
  const logFile = path.join(folder, 'log');
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, contestant.args, {
    cwd: folder,
    // The settings of the caller are not passed on.
    env: { PATH: process.env.PATH, ...makeEnvironment(port, url) },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  process.on('exit', () => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const origin = `http://127.0.0.1:${port}`;
  const fail = async (fault: string): Promise<never> => {
    child.kill('SIGKILL');
    const lines = (await readFile(logFile, 'utf8')).trim().split('\n').slice(-5).join('\n');
    throw new ContestantError(`${contestant.name}: ${fault}\n${lines}`);
  };
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null) return await fail('it ended under the load');
    child.kill('SIGTERM');
    await Promise.race([exited, sleep(PATIENCE, undefined, { ref: false })]);
    if (!child.kill(0)) return;
    await fail('it does not stop');
  };

  const deadline = performance.now() + PATIENCE;
  while (performance.now() < deadline && child.exitCode === null) {
    const answer = await ask(origin, 'POST', '/plants', { id, ...PLANT }).catch(() => undefined);
    if (answer === undefined) {
      await sleep(10);
      continue;
    }
    const isRight = answer.status === 200 && JSON.stringify(answer.body) === JSON.stringify(PLANT);
    if (!isRight) return await fail(`it answers a create with ${answer.status}`);
    return { origin, pid: child.pid ?? NaN, stop };
  }
  return await fail('it does not start');
}

/** Reads the processor time of all threads of a process, in microseconds (Linux only). */
export async function readProcessorUs(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const times = await Promise.all(
    threads.map(async (thread) => {
      // A thread may end meanwhile.
      const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').catch(() => '0');
      return Number(text.split(' ')[0]) / 1_000;
    }),
  );
  return times.reduce((sum, time) => sum + time, 0);
}
