import { describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { stat } from 'node:fs/promises';
import { DataSource } from 'typeorm';
import type { JsonText } from 'durable-rest';
import { type Answer, ENGINE, expectError, TOKEN } from 'durable-rest/testing';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { PlantsRepository } from '../../src/modules/plants/plants.repository.js';
import { ChangeFeed } from '../../packages/store/src/change-feed/change-feed.js';
import {
  type Change,
  FEED,
  latestCursor,
  listChanges,
  untilWaiting,
} from '../support/change-feed.js';
import { getLimits } from '../support/limits.js';
import { openSocket } from '../support/http/connection.js';
import { PostgresServer } from '../../packages/platform/src/testing/postgres-server.js';
import { TestApp } from '../support/test-app.js';

const MONSTERA = '{"id":7,"name":"Monstera"}';
const CREATED = ['plant.created', 7, { id: 7, name: 'Monstera' }];

const app = TestApp.forEach(FEED);

async function readPage(query = ''): Promise<Answer> {
  const answer = await app.get(`/changes${query}`);
  expect(answer).toMatchObject({ status: 200 });
  return answer;
}

async function readAll(): Promise<unknown[]> {
  return listChanges(await readPage('?limit=1000'));
}

/** Restarts the application, and returns the warnings of its start. */
async function restart(env: { readonly CHANGE_FEED: string }): Promise<string[]> {
  const warn = jest.spyOn(Logger.prototype, 'warn');
  await app.restart(env);
  const texts = warn.mock.calls.map(([text]) => String(text));
  warn.mockRestore();
  return texts;
}

/** Counts the commits of plants in batches. */
async function countCommits(): Promise<number> {
  const { text } = await app.get('/metrics');
  return Number(/^store_commit_rows_count\{table="plants".*\} (\d+)$/m.exec(text)?.[1]);
}

describe('the feed of changes', () => {
  it('has every change of a plant, in order, and none that changed nothing', async () => {
    await app.create('{"id":7,"name":"Monstera","tag":"in\\"door\\n"}');
    await app.put('/plants/7', '{"name":"Ficus"}');
    await app.put('/plants/7', '{"name":"Ficus"}');
    await app.delete('/plants/7');
    await app.create(MONSTERA);
    await app.create(MONSTERA);
    expect(await readAll()).toEqual([
      ['plant.created', 7, { id: 7, name: 'Monstera', tag: 'in"door\n' }],
      ['plant.replaced', 7, { id: 7, name: 'Ficus' }],
      ['plant.removed', 7, undefined],
      CREATED,
    ]);
  });

  it('shows a plant as GET shows it, to the last digit', async () => {
    await app.create(
      '{"id":-9223372036854775808,"name":"\\u0001 \\ud83c\\udf31 \\u2028","tag":""}',
    );
    const { text } = await app.get('/plants/-9223372036854775808');
    const { text: page } = await readPage();
    expect(page).toContain('"id":-9223372036854775808,"at"');
    expect(JSON.parse(page)).toMatchObject([{ data: JSON.parse(text) as object }]);
  });

  it('has the commits of modules and other programs, and nothing that they roll back', async () => {
    const dataSource = app.nest.get(DataSource);
    const plants = dataSource.getRepository(Plant);
    await plants.save({ id: '1', name: 'saved', tag: null });
    const undone = dataSource.transaction(async (manager) => {
      await manager.save(Plant, { id: '2', name: 'undone', tag: null });
      throw new Error('no');
    });
    await expect(undone).rejects.toThrow('no');
    await plants.update({ id: '1' }, { id: '3' });
    await dataSource.query(`DELETE FROM plants`);
    expect(await readAll()).toEqual([
      ['plant.created', 1, { id: 1, name: 'saved' }],
      ['plant.removed', 1, undefined],
      ['plant.created', 3, { id: 3, name: 'saved' }],
      ['plant.removed', 3, undefined],
    ]);
  });

  it('has each of several changes that one commit makes of a plant', async () => {
    const plants = app.nest.get(PlantsRepository);
    await app.create(MONSTERA);
    const names = Array.from({ length: 40 }, (_, index) => `name ${index}`);
    // The first commit is running while the others wait for the next. On a busy machine some fail.
    const done = await Promise.allSettled(
      names.map((name) => plants.update('7', (plant) => ({ ...plant, name }))),
    );
    const answered = names.filter((_, index) => done[index]?.status === 'fulfilled');
    expect(answered.length).toBeGreaterThan(1);
    const [, ...states] = (await readAll()) as [string, number, Plant][];
    expect(states.map(([, , { name }]) => name)).toEqual(answered);
  });
});

describe('a page of changes', () => {
  it('has each of many changes of one plant that share a commit', async () => {
    await app.create(MONSTERA);
    const plants = app.nest.get(PlantsRepository);
    const before = await countCommits();
    const numbers = Array.from({ length: 30 }, (_, index) => index);
    await Promise.all(
      numbers.map((number) =>
        plants.update(7n, (plant) => ({ ...plant, name: `${plant.name} ${number}` })),
      ),
    );
    expect((await countCommits()) - before).toBe(1);
    const names = numbers.map((number) => `Monstera ${numbers.slice(0, number + 1).join(' ')}`);
    expect(await readAll()).toEqual([
      CREATED,
      ...names.map((name) => ['plant.replaced', 7, { id: 7, name }]),
    ]);
  });

  it('continues by its Link, also after an empty page', async () => {
    const first = await readPage('?limit=2');
    expect(first.body).toEqual([]);
    for (const id of [1, 2, 3]) await app.create(`{"id":${id},"name":"n"}`);
    let path = first.next ?? '';
    const ids: number[][] = [];
    for (let count = 0; count < 3; count++) {
      const page = await app.get(path);
      ids.push((page.body as Change[]).map(({ id }) => id));
      path = page.next ?? '';
    }
    expect(ids).toEqual([[1, 2], [3], []]);
    expect((await readPage('?limit=2')).body).toHaveLength(2);
    expect(new URL(path, app.url).searchParams.get('after')).toBe(await latestCursor(app));
  });

  it('has as many changes as its request asks for, whatever others ask for meanwhile', async () => {
    for (const id of [1, 2, 3]) await app.create(`{"id":${id},"name":"n"}`);
    const feed = app.nest.get(ChangeFeed);
    // The first reading is running while the others wait for the next.
    const pages = await Promise.all([3, 1, 2, 3].map((limit) => feed.read(undefined, limit)));
    const lengths = pages.map(
      ({ json }) => (JSON.parse((json as JsonText).text) as unknown[]).length,
    );
    expect(lengths).toEqual([3, 1, 2, 3]);
  });

  it('is refused with a query that is not valid', async () => {
    const queries = ['after=nonsense', 'after=', 'after=1', 'limit=0', 'limit=1001'];
    for (const query of [...queries, 'wait=26', 'wait=-1', 'wait=1.5', 'wait=']) {
      expectError(await app.get(`/changes?${query}`), 'INVALID_PARAMETERS');
    }
  });

  it('is refused after a change that the feed does not have', async () => {
    await app.create(MONSTERA);
    const [number = ''] = (await latestCursor(app)).split('.');
    for (const cursor of [`${number}.0123456789ab`, '0.0123456789ab', '999.0123456789ab']) {
      expectError(await app.get(`/changes?after=${cursor}`), 'CHANGES_GONE');
      expectError(await app.get(`/changes?after=${cursor}&wait=20`), 'CHANGES_GONE');
    }
  });

  it('ends early if its changes are long, and then goes on', async () => {
    const name = 'x'.repeat(100_000);
    for (const id of [1, 2, 3, 4]) await app.create(JSON.stringify({ id, name }));
    const first = await readPage();
    expect(first.body).toHaveLength(3);
    expect((await app.get(first.next ?? '')).body).toMatchObject([{ id: 4 }]);
  });

  it('drops changes that are too old, but the last of them, and refuses cursors before it', async () => {
    const before = await latestCursor(app);
    for (const id of [1, 2, 3]) await app.create(`{"id":${id},"name":"n"}`);
    const [, second] = (await readPage()).body as Change[];
    await app.query(`UPDATE changes SET at = '2020-01-01T00:00:00.000Z' WHERE number <= 2`);
    await app.nest.get(ChangeFeed).removeOld();
    expect((await readPage()).body).toMatchObject([{ id: 2 }, { id: 3 }]);
    expect((await readPage(`?after=${second?.cursor ?? ''}`)).body).toMatchObject([{ id: 3 }]);
    expectError(await app.get(`/changes?after=${before}`), 'CHANGES_GONE');
  });
});

describe('the feed', () => {
  it('continues after a start that changes nothing', async () => {
    await app.create(MONSTERA);
    const cursor = await latestCursor(app);
    expect(await restart(FEED)).toEqual([]);
    expect((await readPage(`?after=${cursor}`)).body).toEqual([]);
    expect(await readAll()).toEqual([CREATED]);
  });

  it('begins anew when it is switched on, and nothing of the time before is in it', async () => {
    await app.create(MONSTERA);
    const cursor = await latestCursor(app);
    expect(await restart({ CHANGE_FEED: 'off' })).toEqual([
      expect.stringMatching(/^CHANGE_FEED is off, so this start has removed all recorded changes/),
    ]);
    expect(await restart({ CHANGE_FEED: 'off' })).toEqual([]);
    expectError(await app.get('/changes'), 'NOT_FOUND');
    expect((await app.request('GET', '/openapi.json')).text).not.toContain('/changes');
    await app.create('{"id":8,"name":"n"}');
    expect(await restart(FEED)).toEqual([]);
    expectError(await app.get(`/changes?after=${cursor}`), 'CHANGES_GONE');
    expect(await readAll()).toEqual([]);
    await app.delete('/plants/7');
    expect(await readAll()).toEqual([['plant.removed', 7, undefined]]);
  });

  it('begins anew when a trigger that records changes was dropped', async () => {
    const cursor = await latestCursor(app);
    if (ENGINE === 'postgres') {
      await app.query('DROP TRIGGER record_change ON plants');
    } else {
      const [trigger] = await app.query<{ name: string }>(
        `SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'plants'`,
      );
      await app.query(`DROP TRIGGER ${trigger?.name ?? ''}`);
    }
    expect(await restart(FEED)).toEqual([
      expect.stringMatching(
        /^The feed of changes begins anew, and all recorded changes were removed/,
      ),
    ]);
    expectError(await app.get(`/changes?after=${cursor}`), 'CHANGES_GONE');
    await app.create(MONSTERA);
    expect(await readAll()).toEqual([CREATED]);
  });

  it('commits nothing while nothing is written to the store', async () => {
    // On PostgreSQL, transactions in the other databases of a server count too.
    const ownServer = ENGINE === 'postgres' ? await PostgresServer.start() : undefined;
    if (ownServer !== undefined) await app.restart({ DATABASE_URL: ownServer.url() });
    await app.create(MONSTERA);
    const cursor = await latestCursor(app);
    const before = await readState();
    await app.get(`/changes?after=${cursor}&wait=1`);
    await app.nest.get(ChangeFeed).removeOld();
    expect(await readState()).toEqual(before);
    await ownServer?.remove();
  });
});

describe('a request that waits for a change', () => {
  it('is answered when there is one, and its Link repeats limit and wait', async () => {
    await app.create('{"id":6,"name":"Ficus"}');
    const cursor = await latestCursor(app);
    const waiting = app.get(`/changes?after=${cursor}&limit=5&wait=25`);
    await untilWaiting(app, 1);
    expect(getLimits(app).turns.pages.isIdle).toBe(true);
    await app.create(MONSTERA);
    const page = await waiting;
    expect(listChanges(page)).toEqual([CREATED]);
    const after = await latestCursor(app);
    expect(page.next).toBe(`/changes?limit=5&after=${after}&wait=25`);
    await untilWaiting(app, 0);
  });

  it('is answered at once if there is a change, or with the latest cursor', async () => {
    await app.create(MONSTERA);
    expect(listChanges(await app.get('/changes?wait=25'))).toEqual([CREATED]);
    expect((await app.get('/changes?after=latest&wait=25')).body).toEqual([]);
  });

  it('is answered with an empty page when the time is over', async () => {
    const cursor = await latestCursor(app);
    const page = await app.get(`/changes?after=${cursor}&wait=1`);
    expect(page).toMatchObject({ status: 200, body: [] });
    expect(page.next).toBe(`/changes?limit=100&after=${cursor}&wait=1`);
  });

  it('is answered when another program on the store makes a change', async () => {
    const cursor = await latestCursor(app);
    const waiting = app.get(`/changes?after=${cursor}&wait=25`);
    await untilWaiting(app, 1);
    await app.query(`INSERT INTO plants (id, name) VALUES (7, 'Monstera')`);
    expect(listChanges(await waiting)).toEqual([CREATED]);
  });

  it('is answered with an empty page when the program stops', async () => {
    const cursor = await latestCursor(app);
    const waiting = [1, 2, 3].map(() => app.get(`/changes?after=${cursor}&wait=25`));
    await untilWaiting(app, 3);
    await app.nest.close();
    const pages = await Promise.all(waiting);
    expect(pages.map(({ body }) => body)).toEqual([[], [], []]);
  });

  it('is forgotten when its client leaves', async () => {
    const cursor = await latestCursor(app);
    const request = `GET /changes?after=${cursor}&wait=25 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
    const [one, other] = [1, 2].map(() => openSocket(app.port).resume());
    one?.write(request);
    other?.write(request);
    await untilWaiting(app, 2);
    one?.destroy();
    await untilWaiting(app, 1);
    other?.end();
    await untilWaiting(app, 0);
  });

  it('does not wait if it is a HEAD', async () => {
    const cursor = await latestCursor(app);
    const headers = app.authorization;
    const { next } = await app.request('HEAD', `/changes?after=${cursor}&wait=25`, { headers });
    expect(next).toContain(`after=${cursor}`);
    await untilWaiting(app, 0);
  });
});

/** Reads what every commit that writes something changes. */
async function readState(): Promise<unknown> {
  if (ENGINE === 'sqlite') {
    const { mtimeMs, size } = await stat(`${app.storeUrl.replace('sqlite:', '')}-wal`);
    return { mtimeMs, size };
  }
  return await app.query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xmax');
}
