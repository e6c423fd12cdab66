import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TestStore } from 'durable-rest/testing';
import { randomUUID } from 'node:crypto';
import { AppModule } from '../app.module.js';
import type { Bed } from './bed.entity.js';

let store: TestStore;
let app: INestApplication;
const environment = { ...process.env };

beforeEach(async () => {
  store = await TestStore.create();
  process.env.DATABASE_URL = store.url;
  await start();
});

afterEach(async () => {
  await app.close();
  await store.remove();
  process.env = { ...environment };
});

async function start(): Promise<void> {
  app = await NestFactory.create(AppModule, { logger: false });
  await app.listen(0, '127.0.0.1');
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
  const answer = await fetch(`${await app.getUrl()}${path}`, body && request);
  return { status: answer.status, body: await answer.json() };
}

async function createBed(name: string, room: number): Promise<Bed> {
  const { status, body } = await send('/beds', { name, room });
  expect(status).toBe(201);
  return body as Bed;
}

describe('a plain Nest application on the store', () => {
  it('keeps a bed, also after a restart', async () => {
    const bed = await createBed('herbs', 3);
    await app.close();
    await start();
    expect(await send(`/beds/${bed.id}`)).toEqual({ status: 200, body: bed });
  });

  it('decides inside the commit, so that requests at the same time never exceed the room', async () => {
    const { id } = await createBed('herbs', 5);
    const plantings = Array.from({ length: 20 }, () => send(`/beds/${id}/plants`, { plants: 1 }));
    const statuses = (await Promise.all(plantings)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(5);
    expect(statuses.filter((status) => status === 409)).toHaveLength(15);
    expect((await send(`/beds/${id}`)).body).toMatchObject({ room: 0 });
  });

  it('lists beds by name, page by page', async () => {
    for (const name of ['roses', 'herbs', 'beans']) await createBed(name, 1);
    const first = await send('/beds?limit=2');
    const { next } = first.body as { next: string };
    expect(first.body).toMatchObject({ beds: [{ name: 'beans' }, { name: 'herbs' }] });
    const second = await send(`/beds?limit=2&after=${next}`);
    expect(second.body).toMatchObject({ beds: [{ name: 'roses' }] });
    expect(second.body).not.toHaveProperty('next');
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
    await createBed('taken', 1);
    const answer = await send(path, body);
    const { message } = answer.body as { message: string | string[] };
    expect(answer.status).toBe(status);
    expect([message].flat()[0]).toMatch(text);
  });
});
