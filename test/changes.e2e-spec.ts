import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { DataSource } from 'typeorm';
import { beginEpoch } from '../src/commands/begin-epoch.js';
import { Plant } from '../src/modules/plants/plant.entity.js';
import { PlantsRepository } from '../src/modules/plants/plants.repository.js';
import { ReadFeedPages } from '../src/platform/database/change-feed/change-log.js';
import { ChangeFeed } from '../src/platform/database/change-feed.js';
import { MAX_PAGES, Turns } from '../src/platform/requests/concurrent-requests.js';
import { MAX_STREAMS } from '../src/platform/rest/event-stream.js';
import { passSeconds, resetClocks } from './support/clock.js';
import { readEvents, type StreamEvent } from './support/event-source.js';
import { expectError } from './support/expect-error.js';
import { type Answer, TestApp } from './support/test-app.js';
import { ENGINE } from './support/test-store.js';
import { TOKEN } from './support/token.js';
import { TokenIssuer } from './support/token-issuer.js';
import { until } from './support/until.js';

interface Change {
  readonly cursor: string;
  readonly type: string;
  readonly id: number;
  readonly at: string;
  readonly data?: object;
}

/** Idle connections of tests need no time to end by themselves. */
const FEED = { CHANGE_FEED: 'on', SHUTDOWN_GRACE_MS: '0' };
const OTHER_TOKEN = 'another-token-of-another-client';
const TWO_CLIENTS = { ...FEED, ACCESS_TOKENS: `${TOKEN},${OTHER_TOKEN}` };
/** More requests than there are turns for pages. */
const FLOOD = 100;
const MONSTERA = '{"id":7,"name":"Monstera"}';
const CREATED = ['plant.created', 7, { id: 7, name: 'Monstera' }];

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start(FEED);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
  resetClocks();
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

function nextPath({ headers }: Answer): string {
  return /^<(.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';
}

async function latestCursor(): Promise<string> {
  const page = await readPage('?after=latest');
  expect(page.body).toEqual([]);
  return new URL(nextPath(page), app.url).searchParams.get('after') ?? '';
}

/** @param name of a metric, with its labels, as a regular expression */
async function readMetric(name: string): Promise<number> {
  const { text } = await app.get('/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

/** Sends GET /changes on a connection of its own. */
function ask(token: string, query: string, ...headers: readonly string[]): Socket {
  const socket = connect(app.port, '127.0.0.1').on('error', () => undefined);
  const lines = [`GET /changes${query} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${token}`];
  socket.write([...lines, ...headers, '', ''].join('\r\n'));
  return socket.resume();
}

/** Counts the requests of a token that have taken a turn, or wait for one. */
function watchTurns(): (token: string) => number {
  const takes = [Turns.ofHandlers, Turns.ofPages].map((turns) => jest.spyOn(turns, 'take'));
  return (token) => {
    const requests = takes.flatMap(({ mock }) => mock.calls.map(([request]) => request));
    return new Set(requests.filter(({ headers }) => headers.authorization?.endsWith(token))).size;
  };
}

/** Lets no read of a page finish until `finish` is called. */
function holdPages(epoch: string): { readonly limits: readonly number[]; finish: () => void } {
  const limits: number[] = [];
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  jest.spyOn(ReadFeedPages.prototype, 'execute').mockImplementation(async (_, requests) => {
    limits.push(...requests.map(({ limit }) => limit));
    await finished;
    return requests.map(() => ({ epoch, removed: 0, rows: [] }));
  });
  return { limits, finish };
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
    let path = nextPath(first);
    const ids: number[][] = [];
    for (let count = 0; count < 3; count++) {
      const page = await app.get(path);
      ids.push((page.body as Change[]).map(({ id }) => id));
      path = nextPath(page);
    }
    expect(ids).toEqual([[1, 2], [3], []]);
    expect(new URL(path, app.url).searchParams.get('after')).toBe(await latestCursor());
  });

  it('is refused with a query that is not valid, or a cursor of another epoch', async () => {
    for (const query of ['after=nonsense', 'after=', 'limit=0', 'limit=1001']) {
      expectError(await app.get(`/changes?${query}`), 'INVALID_PARAMETERS');
    }
    expectError(await app.get('/changes?after=another-one0.1'), 'CHANGES_GONE');
  });

  it('is refused beyond the newest change', async () => {
    const [epoch = ''] = (await latestCursor()).split('.');
    expectError(await app.get(`/changes?after=${epoch}.1`), 'INVALID_PARAMETERS');
    await app.create(MONSTERA);
    expect((await readPage(`?after=${epoch}.1`)).body).toEqual([]);
  });

  it('comes in turn, also while another client asks for many', async () => {
    await app.restart(TWO_CLIENTS);
    await app.create(MONSTERA);
    const [epoch = ''] = (await latestCursor()).split('.');
    const countTurns = watchTurns();
    const pages = holdPages(epoch);
    const flood = Array.from({ length: FLOOD }, () => ask(TOKEN, '?limit=2'));
    await until(() => countTurns(TOKEN) === FLOOD);
    const other = ask(OTHER_TOKEN, '?limit=1');
    await until(() => countTurns(OTHER_TOKEN) === 1);
    pages.finish();
    await once(other, 'data');
    // One more of the flood may come first, and all that have their turn.
    expect(pages.limits.indexOf(1)).toBeLessThanOrEqual(MAX_PAGES + 1);
    for (const socket of [...flood, other]) socket.destroy();
  });

  it('drops changes that are too old, and refuses cursors before them', async () => {
    const before = await latestCursor();
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
    const cursor = await latestCursor();
    await app.restart(FEED);
    expect((await readPage(`?after=${cursor}`)).body).toEqual([]);
    expect(await listChanges()).toEqual([CREATED]);
  });

  it('begins when the feed is switched on, and nothing of the time before is in it', async () => {
    await app.create(MONSTERA);
    const cursor = await latestCursor();
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
    const cursor = await latestCursor();
    await app.create(MONSTERA);
    await app.restart(FEED, async () => expect(await beginEpoch(app.storeUrl)).toBe(true));
    expectError(await app.get(`/changes?after=${cursor}`), 'CHANGES_GONE');
    expect(await listChanges()).toEqual([]);
  });

  it('begins when the triggers that record changes were dropped', async () => {
    const cursor = await latestCursor();
    const name = ENGINE === 'postgres' ? 'record_change' : 'record_change_plants_insert';
    await app.query(`DROP TRIGGER ${name} ${ENGINE === 'postgres' ? 'ON plants' : ''}`);
    await app.restart(FEED);
    expectError(await app.get(`/changes?after=${cursor}`), 'CHANGES_GONE');
    await app.create(MONSTERA);
    expect(await listChanges()).toEqual([CREATED]);
  });
});

describe('a stream of changes', () => {
  const open = async (headers: Record<string, string> = {}, query = ''): Promise<Response> =>
    await fetch(`${app.url.origin}/changes${query}`, {
      headers: { ...app.authorization, Accept: 'text/event-stream', ...headers },
    });
  const read = async (events: AsyncGenerator<StreamEvent>): Promise<StreamEvent> => {
    const { value } = (await events.next()) as IteratorResult<StreamEvent, undefined>;
    if (value === undefined) throw new Error('the stream has ended');
    return value;
  };

  it('begins with its cursor, and then has the next changes', async () => {
    await app.create(MONSTERA);
    const response = await open();
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = readEvents(response);
    expect(await read(events)).toEqual({ id: await latestCursor(), isComment: false });
    await app.put('/plants/7', '{"name":"Ficus"}');
    const { id, event, data = '' } = await read(events);
    expect({ id, event }).toEqual({ id: await latestCursor(), event: 'plant.replaced' });
    const [, change] = (await readPage()).body as Change[];
    expect(JSON.parse(data)).toEqual(change);
    await events.return();
  });

  it('continues after Last-Event-ID, which wins over after', async () => {
    const cursor = await latestCursor();
    await app.create(MONSTERA);
    const events = readEvents(await open({ 'Last-Event-ID': cursor }, '?after=latest'));
    expect(await read(events)).toMatchObject({ id: cursor });
    expect(await read(events)).toMatchObject({ event: 'plant.created' });
    await events.return();
  });

  it('is refused with a cursor that is not valid, or of another epoch', async () => {
    const invalid = await open({ 'Last-Event-ID': 'nonsense' });
    expect(await invalid.json()).toMatchObject({ error: 40003 });
    const gone = await open({ 'Last-Event-ID': 'another-one0.1' });
    expect(await gone.json()).toMatchObject({ error: 41000 });
  });

  it('is shared: many listeners at one place cost one statement', async () => {
    const streams = await Promise.all(Array.from({ length: 50 }, () => open()));
    const events = streams.map((response) => readEvents(response));
    await Promise.all(events.map(read));
    const pages = String.raw`store_operations_total\{table="changes",operation="page".*\}`;
    const before = await readMetric(pages);
    await app.create(MONSTERA);
    for (const one of events) expect(await read(one)).toMatchObject({ event: 'plant.created' });
    expect((await readMetric(pages)) - before).toBe(1);
    await Promise.all(events.map((one) => one.return()));
  });

  it('waits for its turn to read a page, like other requests', async () => {
    const ids = Array.from({ length: FLOOD }, (_, index) => index + 1);
    await Promise.all(ids.map((id) => app.create(`{"id":${id},"name":"n"}`)));
    const [epoch = ''] = (await latestCursor()).split('.');
    const pages = holdPages(epoch);
    const countTurns = watchTurns();
    const streams = Array.from({ length: FLOOD }, (_, number) =>
      ask(TOKEN, '', 'Accept: text/event-stream', `Last-Event-ID: ${epoch}.${number}`),
    );
    await until(() => countTurns(TOKEN) === FLOOD);
    const waiting = String.raw`store_queue_rows\{table="changes",operation="page"\}`;
    const countReads = async (): Promise<number> =>
      pages.limits.length + (await readMetric(waiting));
    await until(async () => (await countReads()) >= MAX_PAGES);
    const reads = await countReads();
    for (const socket of streams) socket.destroy();
    pages.finish();
    expect(reads).toBe(MAX_PAGES);
  });

  it('keeps only a few pages in memory, however long the feed is', async () => {
    const cursor = await latestCursor();
    const name = 'x'.repeat(100_000);
    const ids = Array.from({ length: 60 }, (_, index) => index + 1);
    for (const id of ids) await app.create(JSON.stringify({ id, name }));
    const events = readEvents(await open({ 'Last-Event-ID': cursor }));
    await read(events);
    for (const id of ids) {
      const { data = '' } = await read(events);
      expect(JSON.parse(data)).toMatchObject({ id });
    }
    // A page has about three of these changes.
    const feed = app.nest.get<{ readonly shared: ReadonlyMap<number, unknown> }>(ChangeFeed);
    expect(feed.shared.size).toBe(16);
    await events.return();
  });

  it('continues after the store has failed, also while nothing else is written', async () => {
    const cursor = await latestCursor();
    await app.create(MONSTERA);
    const gone = new Error('the store is gone');
    const reading = jest.spyOn(ReadFeedPages.prototype, 'execute').mockRejectedValueOnce(gone);
    const ended = readEvents(await open({ 'Last-Event-ID': cursor }));
    expect(await read(ended)).toMatchObject({ id: cursor });
    expect(await ended.next()).toMatchObject({ done: true });
    expect(reading).toHaveBeenCalledTimes(1);
    const events = readEvents(await open({ 'Last-Event-ID': cursor }));
    expect(await read(events)).toMatchObject({ id: cursor });
    expect(await read(events)).toMatchObject({ event: 'plant.created' });
    await events.return();
    reading.mockRestore();
  });

  it('that is silent sends a comment', async () => {
    const events = readEvents(await open());
    await read(events);
    passSeconds(15);
    expect(await read(events)).toEqual({ isComment: true });
    await events.return();
  });

  it('ends when the program stops, after the changes that are due', async () => {
    const events = readEvents(await open());
    await read(events);
    await app.create(MONSTERA);
    const stopped = app.nest.close();
    expect(await read(events)).toMatchObject({ event: 'plant.created' });
    expect(await events.next()).toMatchObject({ done: true });
    await stopped;
  });

  it('ends when its client disconnects', async () => {
    const leaving = new AbortController();
    const response = await fetch(`${app.url.origin}/changes`, {
      headers: { ...app.authorization, Accept: 'text/event-stream' },
      signal: leaving.signal,
    });
    await read(readEvents(response));
    await until(async () => (await readMetric('change_feed_listeners')) === 1);
    leaving.abort();
    await until(async () => (await readMetric('change_feed_listeners')) === 0);
  });

  it('ends when its client has left, though it sent a body', async () => {
    const socket = ask(TOKEN, '', 'Accept: text/event-stream', 'Content-Length: 100000');
    socket.write('x'.repeat(100_000));
    await until(async () => (await readMetric('change_feed_listeners')) === 1);
    socket.end();
    await until(async () => (await readMetric('change_feed_listeners')) === 0);
  });

  it('ends when its client has too many, of which it is the oldest', async () => {
    await app.restart(TWO_CLIENTS);
    const listen = async (token: string): Promise<Socket> => {
      const socket = ask(token, '', 'Accept: text/event-stream');
      await once(socket, 'data');
      return socket;
    };
    const other = await listen(OTHER_TOKEN);
    const oldest = await listen(TOKEN);
    const ended = once(oldest, 'close');
    const sockets = [other];
    while (sockets.length < MAX_STREAMS - 1) sockets.push(await listen(TOKEN));
    expect(oldest.closed).toBe(false);
    sockets.push(await listen(TOKEN));
    await ended;
    await until(async () => (await readMetric('change_feed_listeners')) === MAX_STREAMS);
    for (const socket of sockets) socket.destroy();
  });

  it('ends when its client reads nothing for too long, and misses no change by that', async () => {
    await app.restart({ ...FEED, SEND_TIMEOUT_MS: '200' });
    const after = await latestCursor();
    const socket = connect(app.port, '127.0.0.1').pause();
    socket.write(
      `GET /changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nAccept: text/event-stream\r\n\r\n`,
    );
    await once(socket, 'readable');
    // More than the system buffers for a client that does not read.
    const name = 'x'.repeat(100_000);
    let id = 0;
    await until(async () => {
      await app.create(`{"id":${++id},"name":"${name}"}`);
      return (await readMetric('change_feed_listeners')) === 0;
    });
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
    await once(socket.resume(), 'close');
    const whole = [...received.matchAll(/^id: (.*)\nevent: .*\ndata: .*"\}\}\n\r?\n/gm)];
    const last = whole.at(-1)?.[1] ?? after;
    const events = readEvents(await open({ 'Last-Event-ID': last }));
    expect(await read(events)).toMatchObject({ id: last });
    for (let next = whole.length + 1; next <= id; next++) {
      expect(JSON.parse((await read(events)).data ?? '')).toMatchObject({ id: next });
    }
    await events.return();
  });

  it('ends when its token expires', async () => {
    const issuer = await TokenIssuer.start();
    try {
      await app.close();
      app = await TestApp.start({ ...FEED, ...issuer.env });
      const headers = { Authorization: `Bearer ${await issuer.token()}` };
      const events = readEvents(await open(headers));
      await read(events);
      passSeconds(24 * 3_600);
      expect(await events.next()).toMatchObject({ done: true });
    } finally {
      await issuer.stop();
    }
  });
});
