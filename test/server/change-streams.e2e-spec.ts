import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PlantsRepository } from '../../src/modules/plants/plants.repository.js';
import { PIECE_BYTES } from '../../src/platform/database/batching/read-rows.js';
import { ReadFeedPages } from '../../src/platform/database/change-feed/change-log.js';
import { ChangeFeed } from '../../src/platform/database/change-feed.js';
import { MAX_PAGES, Turns } from '../../src/platform/requests/concurrent-requests.js';
import {
  FEED,
  latestCursor,
  listen,
  openStream,
  readEvent,
  readMetric,
  sendChangesRequest,
} from '../support/change-feed.js';
import {
  holdTimeouts,
  passSeconds,
  passTimeouts,
  resetClocks,
  stopClock,
} from '../support/clock.js';
import { readEvents } from '../support/event-source.js';
import { heapUsed } from '../support/heap-used.js';
import { listServerSockets } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

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

describe('a page of changes', () => {
  it('comes in turn, also while another client asks for many', async () => {
    await app.restart(TWO_CLIENTS);
    await app.create(MONSTERA);
    const [epoch = ''] = (await latestCursor(app)).split('.');
    const countTurns = watchTurns();
    const pages = holdPages(epoch);
    const flood = Array.from({ length: FLOOD }, () => sendChangesRequest(app, TOKEN, '?limit=2'));
    await until(() => countTurns(TOKEN) === FLOOD);
    const other = sendChangesRequest(app, OTHER_TOKEN, '?limit=1');
    await until(() => countTurns(OTHER_TOKEN) === 1);
    pages.finish();
    await once(other, 'data');
    expect(pages.limits).toContain(1);
    // One more of the flood may come first, and all that have their turn.
    expect(pages.limits.indexOf(1)).toBeLessThanOrEqual(MAX_PAGES + 1);
    for (const socket of [...flood, other]) socket.destroy();
    await until(() => Turns.ofPages.isIdle);
  });
});

describe('a stream of changes', () => {
  it('is shared: many listeners at one place cost one statement, and a turn each', async () => {
    const streams = await Promise.all(Array.from({ length: 50 }, () => openStream(app)));
    const events = streams.map((response) => readEvents(response));
    await Promise.all(events.map(readEvent));
    const pages = String.raw`store_operations_total\{table="changes",operation="page".*\}`;
    const before = await readMetric(app, pages);
    const turns = jest.spyOn(Turns.ofPages, 'take');
    await app.create(MONSTERA);
    for (const one of events)
      expect(await readEvent(one)).toMatchObject({ event: 'plant.created' });
    expect((await readMetric(app, pages)) - before).toBe(1);
    expect(turns).toHaveBeenCalledTimes(events.length);
    await Promise.all(events.map((one) => one.return()));
  });

  it('waits for its turn to read a page, like other requests', async () => {
    const ids = Array.from({ length: FLOOD }, (_, index) => index + 1);
    await Promise.all(ids.map((id) => app.create(`{"id":${id},"name":"n"}`)));
    const [epoch = ''] = (await latestCursor(app)).split('.');
    const pages = holdPages(epoch);
    const countTurns = watchTurns();
    const streams = Array.from({ length: FLOOD }, (_, number) =>
      sendChangesRequest(
        app,
        TOKEN,
        '',
        'Accept: text/event-stream',
        `Last-Event-ID: ${epoch}.${number}`,
      ),
    );
    await until(() => countTurns(TOKEN) === FLOOD);
    const waiting = String.raw`store_queue_rows\{table="changes",operation="page"\}`;
    const countReads = async (): Promise<number> =>
      pages.limits.length + (await readMetric(app, waiting));
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

  it('keeps no page in memory while its client does not read', async () => {
    const [epoch = ''] = (await latestCursor(app)).split('.');
    const name = 'x'.repeat(100_000);
    for (let first = 0; first < 150; first += 25) {
      const ids = Array.from({ length: 25 }, (_, index) => String(first + index));
      const plants = ids.map((id) => ({ id, name, tag: null }));
      await app.nest.get(PlantsRepository).createAll(plants);
    }
    await latestCursor(app);
    // However slow this machine is, no stream waits too long for its turn or its client.
    holdTimeouts();
    stopClock();
    const before = heapUsed();
    const sockets = listServerSockets(app);
    // Each begins at another change, so that no two share a page.
    const clients = Array.from({ length: 50 }, (_, number) =>
      sendChangesRequest(
        app,
        TOKEN,
        '',
        'Accept: text/event-stream',
        `Last-Event-ID: ${epoch}.${number}`,
      ).pause(),
    );
    const hasStopped = ({ writableLength }: Socket): boolean => writableLength > 0;
    await until(() => sockets.filter(hasStopped).length === clients.length);
    // A change makes the feed forget the pages that it keeps for other listeners.
    await app.create('{"id":200,"name":"n"}');
    await latestCursor(app);
    expect(heapUsed() - before).toBeLessThan((clients.length * PIECE_BYTES) / 2);
    for (const client of clients) client.destroy();
  });

  it('gets changes later if many streams are open', async () => {
    const polling = ChangeFeed.prototype as unknown as { poll: () => Promise<void> };
    jest.spyOn(polling, 'poll').mockResolvedValue();
    await app.restart({});
    holdTimeouts();
    const after = await latestCursor(app);
    passTimeouts(1);
    const feed = app.nest.get(ChangeFeed);
    const { signal } = new AbortController();
    const listeners = Array.from({ length: 400 }, () =>
      feed.follow(after, signal, (read) => read()),
    );
    const wake = jest.fn();
    for (const listener of listeners) void listener.next().then(wake);
    await app.create(MONSTERA);
    await until(async () => (await latestCursor(app)) !== after);
    passTimeouts(99);
    await latestCursor(app);
    expect(wake).not.toHaveBeenCalled();
    passTimeouts(1);
    await until(() => wake.mock.calls.length === listeners.length);
  });

  it('that is silent sends a comment', async () => {
    const events = await listen(app);
    await readEvent(events);
    passSeconds(15);
    expect(await readEvent(events)).toEqual({ isComment: true });
    await events.return();
  });
});
