import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { endWithUs } from './children.mjs';
import { TOKEN } from './contestants.mjs';
import { PLANT, plantBody, takeId } from './ids.mjs';

/** How long a program may take to answer its first create, or to stop, in milliseconds. */
const PATIENCE = 60_000;

/** A contestant does not work as expected. */
export class ContestantError extends Error {}

/**
 * A started program. It has created one plant.
 *
 * @typedef {object} Server
 * @property {string} url of its plants
 * @property {string} token that it accepts
 * @property {number} pid
 * @property {number} startTime milliseconds from the start to the answer to the first create
 * @property {() => Promise<void>} stop
 */

/**
 * Starts a contestant in its folder, where it writes its log to a file, and creates a plant.
 *
 * @param {import('./contestants.mjs').Contestant} contestant
 * @param {string} folder
 * @param {import('./ids.mjs').Ids} ids
 * @returns {Promise<Server>}
 */
export async function start(contestant, folder, ids) {
  const port = await freePort();
  const logFile = path.join(folder, 'log');
  const log = openSync(logFile, 'a');
  const begin = performance.now();
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
    await firstCreate(url, contestant, child, takeId(ids));
  } catch (error) {
    child.kill('SIGKILL');
    const lines = (await readFile(logFile, 'utf8')).trim().split('\n').slice(-5).join('\n');
    throw new ContestantError(`${contestant.name}: ${error.message}\n${lines}`, { cause: error });
  }
  const startTime = performance.now() - begin;
  return {
    url,
    token: contestant.token ?? TOKEN,
    pid: child.pid,
    startTime,
    stop: () => stop(contestant, child, ended),
  };
}

async function firstCreate(url, contestant, child, id) {
  const deadline = performance.now() + PATIENCE;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} at the start`);
    const answer = await create(url, id, contestant.token ?? TOKEN).catch(() => undefined);
    if (answer !== undefined) return checkAnswer(answer, contestant);
    await sleep(2);
  }
  throw new Error('it does not answer');
}

function checkAnswer({ status, body }, { created = 200 }) {
  const { name, tag } = body;
  if (status !== created || !isDeepStrictEqual({ name, tag }, PLANT)) {
    throw new Error(`it answers a create with ${status} ${JSON.stringify(body)}`);
  }
}

async function create(url, id, token) {
  const request = http.request(url, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  });
  request.end(plantBody(id));
  const [response] = await once(request, 'response');
  return { status: response.statusCode, body: await json(response) };
}

async function stop(contestant, child, ended) {
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

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
