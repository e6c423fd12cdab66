import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TestStore } from 'durable-rest/testing';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Bed } from './bed.entity.js';

const ROOT = new URL('../../../../', import.meta.url).pathname;
/** Runs the sources in a process of their own: durable-rest changes Nest in the process of the tests. */
const PROGRAM = [
  ...['--conditions=source', '--import', `${ROOT}scripts/load-typescript.mjs`],
  `${ROOT}examples/plain-nest/src/main.ts`,
];

let store: TestStore;
let program: ChildProcess;
let url: string;

beforeAll(async () => {
  store = await TestStore.create();
  await start();
});

afterAll(async () => {
  await stop();
  await store.remove();
});

async function start(): Promise<void> {
  const env = { ...process.env, DATABASE_URL: store.url, PORT: '0' };
  program = spawn(process.execPath, PROGRAM, {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  url = await new Promise((resolve, reject) => {
    let output = '';
    program.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const [, address] = /^Listening on (\S+)$/m.exec(output) ?? [];
      if (address !== undefined) resolve(address);
    });
    program.once('exit', () => reject(new Error(output)));
  });
}

async function stop(): Promise<void> {
  const exited = once(program, 'exit');
  program.kill();
  await exited;
}

async function send(
  path: string,
  body?: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const request = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  };
  const answer = await fetch(`${url}${path}`, body && request);
  return { status: answer.status, body: await answer.json() };
}

async function createBed(name: string, room: number): Promise<Bed> {
  const { status, body } = await send('/beds', { name, room });
  expect(status).toBe(201);
  return body as Bed;
}

describe('a plain Nest application on the store', () => {
  it('keeps a bed, also after a restart', async () => {
    const bed = await createBed('kept', 3);
    await stop();
    await start();
    expect(await send(`/beds/${bed.id}`)).toEqual({ status: 200, body: bed });
  });

  it('decides inside the commit, so that requests at the same time never exceed the room', async () => {
    const { id } = await createBed('small', 5);
    const plantings = Array.from({ length: 20 }, () => send(`/beds/${id}/plants`, { plants: 1 }));
    const statuses = (await Promise.all(plantings)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 409)).toHaveLength(15);
    expect((await send(`/beds/${id}`)).body).toMatchObject({ room: 0 });
  });

  it('lists beds by name, page by page', async () => {
    for (const name of ['a3', 'a2', 'a1']) await createBed(name, 1);
    const first = await send('/beds?limit=2');
    const { next } = first.body as { next: string };
    expect(first.body).toMatchObject({ beds: [{ name: 'a1' }, { name: 'a2' }] });
    const second = await send(`/beds?limit=1&after=${next}`);
    expect(second.body).toMatchObject({ beds: [{ name: 'a3' }] });
    const all = await send('/beds?limit=100');
    expect(all.body).not.toHaveProperty('next');
  });

  it.each([
    ['a taken name', '/beds', { name: 'taken', room: 1 }, 409, 'Taken or in use: name'],
    [
      'a bed without room',
      '/beds',
      { name: 'herbs', room: 0 },
      400,
      /^room must not be less than 1/,
    ],
    ['a cursor of another list', '/beds?after=abc', undefined, 400, /^after must be taken from/],
    ['a key that is not a UUID', '/beds/1', undefined, 400, /uuid is expected/],
    ['a missing bed', `/beds/${randomUUID()}`, undefined, 404, 'Not Found'],
    ['plants of a missing bed', `/beds/${randomUUID()}/plants`, { plants: 1 }, 404, 'Not Found'],
  ])('answers %s as Nest does', async (_, path, body, status, text) => {
    await send('/beds', { name: 'taken', room: 1 });
    const answer = await send(path, body);
    const { message } = answer.body as { message: string | string[] };
    expect(answer.status).toBe(status);
    expect([message].flat()[0]).toMatch(text);
  });
});
