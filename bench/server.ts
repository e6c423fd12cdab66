import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { freePort } from '../test/support/free-port.js';
import { ask } from './answers.js';
import { endWithUs } from './children.js';
import type { Contestant } from './contestants.js';
import { type Ids, takeId } from './ids.js';
import { PLANT, plantBody } from './operations.js';

/** How long a program may take to answer its first create, or to stop, in milliseconds. */
const PATIENCE = 60_000;

/** A contestant does not work as expected. */
export class ContestantError extends Error {}

/** A started program. It has created one plant. */
export interface Server {
  /** The URL of its plants. */
  readonly url: string;
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/** Starts a contestant in its folder, where it writes its log to a file, and creates a plant. */
export async function start(contestant: Contestant, folder: string, ids: Ids): Promise<Server> {
  const port = await freePort();
  const logFile = path.join(folder, 'log');
  const log = openSync(logFile, 'a');
  const child = spawn(contestant.node ?? process.execPath, contestant.args(port), {
    cwd: folder,
    // The settings of the caller are not passed on.
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...contestant.env?.(port, folder) },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  endWithUs(child);
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}/plants`;
  try {
    await createFirst(url, contestant, child, takeId(ids));
  } catch (error) {
    child.kill('SIGKILL');
    const lines = (await readFile(logFile, 'utf8')).trim().split('\n').slice(-5).join('\n');
    const { message } = error as Error;
    throw new ContestantError(`${contestant.name}: ${message}\n${lines}`, { cause: error });
  }
  return { url, pid: child.pid ?? NaN, stop: () => stop(contestant, child, ended) };
}

async function createFirst(
  url: string,
  { created = 200 }: Contestant,
  child: ChildProcess,
  id: string,
): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} at the start`);
    const body = plantBody(id);
    const answer = await ask(url, 'POST', '/plants', { body }).catch(() => undefined);
    if (answer !== undefined) {
      const { name, tag } = answer.body as Partial<typeof PLANT>;
      if (answer.status === created && isDeepStrictEqual({ name, tag }, PLANT)) return;
      throw new Error(`it answers a create with ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    await sleep(2);
  }
  throw new Error('it does not answer');
}

async function stop(
  contestant: Contestant,
  child: ChildProcess,
  ended: Promise<unknown>,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    throw new ContestantError(`${contestant.name}: it ended under the load`);
  }
  child.kill('SIGTERM');
  const isStopped = await Promise.race([
    ended.then(() => true),
    sleep(PATIENCE, false, { ref: false }),
  ]);
  if (isStopped) return;
  child.kill('SIGKILL');
  throw new ContestantError(`${contestant.name}: it does not stop`);
}
