import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import { beginEpoch } from '../../src/commands/begin-epoch.js';
import { Plant } from '../../src/modules/plants/plant.entity.js';
import { PlantsRepository } from '../../src/modules/plants/plants.repository.js';
import { ReadFeedPages } from '../../src/platform/database/change-feed/change-log.js';
import { ChangeFeed } from '../../src/platform/database/change-feed.js';
import { FEED, latestCursor, listen, openStream, readEvent } from '../support/change-feed.js';
import { readEvents } from '../support/event-source.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, TestApp } from '../support/test-app.js';
import { ENGINE } from '../support/test-store.js';

interface Change {
  readonly cursor: string;
  readonly type: string;
  readonly id: number;
  readonly at: string;
  readonly data?: object;
}

const MONSTERA = '{"id":7,"name":"Monstera"}';
const CREATED = ['plant.created', 7, { id: 7, name: 'Monstera' }];

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start(FEED);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
});

async function readPage(query = ''): Promise<Answer> {
  const answer = await app.get(`/changes${query}`);
  expect(answer).toMatchObject({ status: 200 });
  return answer;
}

/** All changes, without their cursors and times. */
async function listChanges(): Promise<unknown[]> {
  const { body } = await readPage('?limit=1000');
  return (body as Change[]).map(({ type, id, data }) => [type, id, data]);
}

describe('the feed of changes', () => {
  it('has every change of a plant, in order, and none that changed nothing', async () => {
    await app.create('{"id":7,"name":"Monstera","tag":"in\\"door\\n"}');
    await app.put('/plants/7', '{"name":"Ficus"}');
    await app.put('/plants/7', '{"name":"Ficus"}');
    await app.delete('/plants/7');
    await app.create(MONSTERA);
    await app.create(MONSTERA);
    expect(await listChanges()).toEqual([
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
    expect(await listChanges()).toEqual([
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
    const [, ...states] = (await listChanges()) as [string, number, Plant][];
    expect(states.map(([, , { name }]) => name)).toEqual(answered);
  });

  it('records no clear() as if nothing had happened', async () => {
    await app.create(MONSTERA);
    const clear = app.nest.get(DataSource).getRepository(Plant).clear();
    if (ENGINE === 'postgres') await expect(clear).rejects.toThrow('use DELETE');
    else await clear;
    const removed = [['plant.removed', 7, undefined]];
    expect(await listChanges()).toEqual([CREATED, ...(ENGINE === 'postgres' ? [] : removed)]);
  });
});

describe('a page of changes', () => {
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
    expect(new URL(path, app.url).searchParams.get('after')).toBe(await latestCursor(app));
  });

  it('is refused with a query that is not valid, or a cursor of another epoch', async () => {
    for (const query of ['after=nonsense', 'after=', 'limit=0', 'limit=1001']) {
      expectError(await app.get(`/changes?${query}`), 'INVALID_PARAMETERS');
    }
    expectError(await app.get('/changes?after=another-one0.1'), 'CHANGES_GONE');
  });

  it('is refused beyond the newest change', async () => {
    const [epoch = ''] = (await latestCursor(app)).split('.');
    expectError(await app.get(`/changes?after=${epoch}.1`), 'INVALID_PARAMETERS');
    await app.create(MONSTERA);
    expect((await readPage(`?after=${epoch}.1`)).body).toEqual([]);
  });

  it('drops changes that are too old, and refuses cursors before them', async () => {
    const before = await latestCursor(app);
    for (const id of [1, 2, 3]) await app.create(`{"id":${id},"name":"n"}`);
    const { body } = await readPage();
    const [, second] = body as Change[];
    await app.query(`UPDATE changes SET at = '2020-01-01T00:00:00.000Z' WHERE number <= 2`);
    await app.nest.get(ChangeFeed).removeOld();
    expect(await listChanges()).toEqual([['plant.created', 3, { id: 3, name: 'n' }]]);
    expect((await readPage(`?after=${second?.cursor ?? ''}`)).body).toHaveLength(1);
    expectError(await app.get(`/changes?after=${before}`), 'CHANGES_GONE');
  });
});

describe('an epoch', () => {
  it('outlasts a start that changes nothing', async () => {
    await app.create(MONSTERA);
    const cursor = await latestCursor(app);
    await app.restart(FEED);
    expect((await readPage(`?after=${cursor}`)).body).toEqual([]);
    expect(await listChanges()).toEqual([CREATED]);
  });

  it('begins when the feed is switched on, and nothing of the time before is in it', async () => {
    await app.create(MONSTERA);
    const cursor = await latestCursor(app);
    await app.restart({ CHANGE_FEED: 'off' });
    expectError(await app.get('/changes'), 'NOT_FOUND');
    expect((await app.request('GET', '/openapi.json')).text).not.toContain('/changes');
    await app.create('{"id":8,"name":"n"}');
    await app.restart(FEED);
    expectError(await app.get(`/changes?after=${cursor}`), 'CHANGES_GONE');
    expect(await listChanges()).toEqual([]);
    await app.delete('/plants/7');
    expect(await listChanges()).toEqual([['plant.removed', 7, undefined]]);
  });

  it('begins on a command of the operator', async () => {
    const cursor = await latestCursor(app);
    await app.create(MONSTERA);
    await app.restart(FEED, async () => expect(await beginEpoch(app.storeUrl)).toBe(true));
    expectError(await app.get(`/changes?after=${cursor}`), 'CHANGES_GONE');
    expect(await listChanges()).toEqual([]);
  });

  it('begins when the triggers that record changes were dropped', async () => {
    const cursor = await latestCursor(app);
    const name = ENGINE === 'postgres' ? 'record_change' : 'record_change_plants_insert';
    await app.query(`DROP TRIGGER ${name} ${ENGINE === 'postgres' ? 'ON plants' : ''}`);
    await app.restart(FEED);
    expectError(await app.get(`/changes?after=${cursor}`), 'CHANGES_GONE');
    await app.create(MONSTERA);
    expect(await listChanges()).toEqual([CREATED]);
  });
});

describe('a stream of changes', () => {
  it('begins with its cursor, and then has the next changes', async () => {
    await app.create(MONSTERA);
    const response = await openStream(app);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = readEvents(response);
    expect(await readEvent(events)).toEqual({ id: await latestCursor(app), isComment: false });
    await app.put('/plants/7', '{"name":"Ficus"}');
    const { id, event, data = '' } = await readEvent(events);
    expect({ id, event }).toEqual({ id: await latestCursor(app), event: 'plant.replaced' });
    const [, change] = (await readPage()).body as Change[];
    expect(JSON.parse(data)).toEqual(change);
    await events.return();
  });

  it('continues after Last-Event-ID, which wins over after', async () => {
    const cursor = await latestCursor(app);
    await app.create(MONSTERA);
    const events = readEvents(await openStream(app, { 'Last-Event-ID': cursor }, '?after=latest'));
    expect(await readEvent(events)).toMatchObject({ id: cursor });
    expect(await readEvent(events)).toMatchObject({ event: 'plant.created' });
    await events.return();
  });

  it('is refused with a cursor that is not valid, or of another epoch', async () => {
    const invalid = await openStream(app, { 'Last-Event-ID': 'nonsense' });
    expect(await invalid.json()).toMatchObject({ error: 40003 });
    const gone = await openStream(app, { 'Last-Event-ID': 'another-one0.1' });
    expect(await gone.json()).toMatchObject({ error: 41000 });
  });

  it('continues after the store has failed, also while nothing else is written', async () => {
    const cursor = await latestCursor(app);
    await app.create(MONSTERA);
    const gone = new Error('the store is gone');
    const reading = jest.spyOn(ReadFeedPages.prototype, 'execute').mockRejectedValueOnce(gone);
    const ended = await listen(app, cursor);
    expect(await readEvent(ended)).toMatchObject({ id: cursor });
    expect(await ended.next()).toMatchObject({ done: true });
    expect(reading).toHaveBeenCalledTimes(1);
    const events = await listen(app, cursor);
    expect(await readEvent(events)).toMatchObject({ id: cursor });
    expect(await readEvent(events)).toMatchObject({ event: 'plant.created' });
    await events.return();
    reading.mockRestore();
  });

  it('ends when the program stops, after the changes that are due', async () => {
    const events = await listen(app);
    await readEvent(events);
    await app.create(MONSTERA);
    const stopped = app.nest.close();
    expect(await readEvent(events)).toMatchObject({ event: 'plant.created' });
    expect(await events.next()).toMatchObject({ done: true });
    await stopped;
  });
});
