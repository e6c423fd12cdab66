import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { DataSource } from 'typeorm';
import { ReadFeedPages } from '../src/platform/database/change-feed/change-log.js';
import { ChangeFeed } from '../src/platform/database/change-feed.js';
import { MAX_PAGES, Turns } from '../src/platform/requests/concurrent-requests.js';
import { MAX_STREAMS } from '../src/platform/rest/event-stream.js';
import { FEED, latestCursor, listen, openStream, readEvent } from './support/change-feed.js';
import { passSeconds, resetClocks } from './support/clock.js';
import { readEvents } from './support/event-source.js';
import { TestApp } from './support/test-app.js';
import { TOKEN } from './support/token.js';
import { TokenIssuer } from './support/token-issuer.js';
import { until } from './support/until.js';

const OTHER_TOKEN = 'another-token-of-another-client';
const TWO_CLIENTS = { ...FEED, ACCESS_TOKENS: `${TOKEN},${OTHER_TOKEN}` };
/** More requests than there are turns for pages. */
const FLOOD = 100;
const MONSTERA = '{"id":7,"name":"Monstera"}';

let app: TestApp;

beforeEach(async () => {
  app = await TestApp.start(FEED);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
  resetClocks();
});

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

async function untilListeners(count: number): Promise<void> {
  await until(async () => (await readMetric('change_feed_listeners')) === count);
}

/** Creates plants meanwhile: without changes, the feed looks once per second who has left. */
async function untilAllHaveLeft(): Promise<void> {
  let id = 0;
  await until(async () => {
    await app.create(`{"id":${++id},"name":"n"}`);
    return (await readMetric('change_feed_listeners')) === 0;
  });
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

describe('a page of changes', () => {
  it('comes in turn, also while another client asks for many', async () => {
    await app.restart(TWO_CLIENTS);
    await app.create(MONSTERA);
    const [epoch = ''] = (await latestCursor(app)).split('.');
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
    await until(() => Turns.ofPages.isIdle);
  });
});

describe('a stream of changes', () => {
  it('is shared: many listeners at one place cost one statement', async () => {
    const streams = await Promise.all(Array.from({ length: 50 }, () => openStream(app)));
    const events = streams.map((response) => readEvents(response));
    await Promise.all(events.map(readEvent));
    const pages = String.raw`store_operations_total\{table="changes",operation="page".*\}`;
    const before = await readMetric(pages);
    await app.create(MONSTERA);
    for (const one of events)
      expect(await readEvent(one)).toMatchObject({ event: 'plant.created' });
    expect((await readMetric(pages)) - before).toBe(1);
    await Promise.all(events.map((one) => one.return()));
  });

  it('ends if changes have been removed while it waited for its turn', async () => {
    const cursor = await latestCursor(app);
    await app.create(MONSTERA);
    await app.create('{"id":8,"name":"n"}');
    const feed = app.nest.get(ChangeFeed);
    await feed.getLatestCursor();
    const changes = feed.follow(cursor, new AbortController().signal, async (read) => {
      const store = app.nest.get(DataSource);
      await store.query('DELETE FROM changes WHERE number = (SELECT min(number) FROM changes)');
      await store.query('UPDATE change_feed SET removed = (SELECT min(number) - 1 FROM changes)');
      return await read();
    });
    expect(await changes.next()).toMatchObject({ done: true });
  });

  it('waits for its turn to read a page, like other requests', async () => {
    const ids = Array.from({ length: FLOOD }, (_, index) => index + 1);
    await Promise.all(ids.map((id) => app.create(`{"id":${id},"name":"n"}`)));
    const [epoch = ''] = (await latestCursor(app)).split('.');
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
    const cursor = await latestCursor(app);
    const name = 'x'.repeat(100_000);
    const ids = Array.from({ length: 60 }, (_, index) => index + 1);
    for (const id of ids) await app.create(JSON.stringify({ id, name }));
    const events = await listen(app, cursor);
    await readEvent(events);
    for (const id of ids) {
      const { data = '' } = await readEvent(events);
      expect(JSON.parse(data)).toMatchObject({ id });
    }
    // A page has about three of these changes.
    const feed = app.nest.get<{ readonly shared: ReadonlyMap<number, unknown> }>(ChangeFeed);
    expect(feed.shared.size).toBe(16);
    await events.return();
  });

  it('that is silent sends a comment', async () => {
    const events = await listen(app);
    await readEvent(events);
    passSeconds(15);
    expect(await readEvent(events)).toEqual({ isComment: true });
    await events.return();
  });

  it('ends when its client disconnects', async () => {
    const leaving = new AbortController();
    const response = await fetch(`${app.url.origin}/changes`, {
      headers: { ...app.authorization, Accept: 'text/event-stream' },
      signal: leaving.signal,
    });
    await readEvent(readEvents(response));
    await untilListeners(1);
    leaving.abort();
    await untilAllHaveLeft();
  });

  it('ends when its client has left, though it sent a body', async () => {
    const socket = ask(TOKEN, '', 'Accept: text/event-stream', 'Content-Length: 100000');
    socket.write('x'.repeat(100_000));
    await untilListeners(1);
    socket.end();
    await untilAllHaveLeft();
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
    await untilListeners(MAX_STREAMS);
    for (const socket of sockets) socket.destroy();
  });

  it('ends when its client reads nothing for too long, and misses no change by that', async () => {
    await app.restart({ ...FEED, SEND_TIMEOUT_MS: '200' });
    const after = await latestCursor(app);
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
    const events = await listen(app, last);
    expect(await readEvent(events)).toMatchObject({ id: last });
    for (let next = whole.length + 1; next <= id; next++) {
      expect(JSON.parse((await readEvent(events)).data ?? '')).toMatchObject({ id: next });
    }
    await events.return();
  });

  it('ends when its token expires', async () => {
    const issuer = await TokenIssuer.start();
    try {
      await app.close();
      app = await TestApp.start({ ...FEED, ...issuer.env });
      const headers = { Authorization: `Bearer ${await issuer.token()}` };
      const events = readEvents(await openStream(app, headers));
      await readEvent(events);
      passSeconds(24 * 3_600);
      expect(await events.next()).toMatchObject({ done: true });
    } finally {
      await issuer.stop();
    }
  });
});
