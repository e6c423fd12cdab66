import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type PlantChange, PlantStoreClient } from '../../client/plant-store-client.js';
import { beginEpoch } from '../../src/commands/begin-epoch.js';
import { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';
import { readMetric } from '../support/change-feed.js';
import { holdTimeouts, passTimeouts, resetClocks } from '../support/clock.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

let app: TestApp;
let client: PlantStoreClient;

beforeAll(async () => {
  app = await TestApp.start({ CHANGE_FEED: 'on' });
  client = new PlantStoreClient(app.url.origin, TOKEN);
});

afterEach(() => {
  resetClocks();
});

afterAll(async () => {
  await app.close();
});

const ID = 9007199254740993n;

async function take(changes: AsyncIterable<PlantChange>, count: number): Promise<PlantChange[]> {
  const taken: PlantChange[] = [];
  for await (const change of changes) {
    taken.push(change);
    if (taken.length === count) break;
  }
  return taken;
}

/** A client whose first requests are answered with these, and the others by the service. */
function makeClient(...answers: (() => Response)[]): PlantStoreClient {
  const send = jest.fn(fetch);
  for (const answer of answers) send.mockImplementationOnce(() => Promise.resolve(answer()));
  return new PlantStoreClient(app.url.origin, TOKEN, { fetch: send });
}

describe('the changes of the typed client', () => {
  it('arrive as they happen, with exact ids, until the caller stops', async () => {
    const changes = client.changes({ after: await client.latestCursor() });
    await client.createPlant({ id: ID, name: '9007199254740993', tag: 't' });
    await client.replacePlant(ID, { name: 'second' });
    const [created, replaced] = await take(changes, 2);
    expect(created).toMatchObject({ type: 'plant.created', id: ID });
    expect(created).toHaveProperty('data', { id: ID, name: '9007199254740993', tag: 't' });
    expect(replaced).toMatchObject({ type: 'plant.replaced', data: { id: ID, name: 'second' } });

    await client.removePlant(ID);
    const [removed] = await take(client.changes({ after: replaced?.cursor }), 1);
    const { cursor, at } = removed ?? {};
    expect(removed).toEqual({ cursor, type: 'plant.removed', id: ID, at });
    expect(cursor).toBe(await client.latestCursor());
  });

  it('have every name, also one with line separators of Unicode', async () => {
    const after = await client.latestCursor();
    await client.createPlant({ id: 2028, name: 'a\u2028b\u2029c\u0085d' });
    const [created] = await take(client.changes({ after }), 1);
    expect(created).toMatchObject({ id: 2028n, data: { name: 'a\u2028b\u2029c\u0085d' } });
  });

  it('begin with the next change', async () => {
    const untilListeners = (count: number): Promise<void> =>
      until(async () => (await readMetric(app, 'change_feed_listeners')) === count);
    // Those of the tests before leave a little later.
    await untilListeners(0);
    const changes = client.changes();
    const first = changes.next();
    await untilListeners(1);
    await client.createPlant({ id: 1, name: 'next' });
    expect((await first).value).toMatchObject({ data: { id: 1n, name: 'next' } });
    await changes.return();
  });

  it('continue after the last complete one when a stream ends or breaks', async () => {
    const after = await client.latestCursor();
    for (const id of [10, 11, 12]) await client.createPlant({ id, name: 'n' });
    const [whole, other] = await take(client.changes({ after }), 2);
    const event = `id: ${whole?.cursor ?? ''}\ndata: {"cursor":"${whole?.cursor ?? ''}","type":"plant.created","id":10,"at":"","data":{"id":10,"name":"n"}}\n\n`;
    const broken = makeClient(
      () => new Response(`id: ${after}\n\n${event}id: ${other?.cursor ?? ''}\ndata: {"cur`),
      () => new Response('<html>', { status: 502 }),
      () => new Response(''),
    );
    const changes = await take(broken.changes({ after }), 3);
    expect(changes.map(({ id }) => id)).toEqual([10n, 11n, 12n]);
  });

  it('continue on a new stream after a silence longer than that of the service', async () => {
    let silent: AbortSignal | undefined;
    let isRead = false;
    const impatient = new PlantStoreClient(app.url.origin, TOKEN, {
      timeoutMs: 1_000,
      fetch: (_, { signal } = {}) => {
        if (silent !== undefined) return Promise.resolve(new Response('', { status: 401 }));
        silent = signal ?? undefined;
        const source = {
          start: (stream: ReadableStreamDefaultController) =>
            signal?.addEventListener('abort', () => stream.error(signal.reason)),
          pull: () => void (isRead = true),
        };
        const body = new ReadableStream(source, { highWaterMark: 0 });
        return Promise.resolve(new Response(body));
      },
    });
    holdTimeouts();
    const next = impatient.changes({ after: 'a cursor' }).next();
    await until(() => isRead);
    passTimeouts(15_999);
    expect(silent?.aborted).toBe(false);
    passTimeouts(1);
    expect(silent?.reason).toMatchObject({ name: 'TimeoutError' });
    const failure = expect(next).rejects.toMatchObject({ status: 401 });
    let isOver = false;
    void failure.finally(() => (isOver = true));
    await until(() => {
      passTimeouts(1_000);
      return isOver;
    });
    await failure;
  });

  it('leave out those of other rows', async () => {
    const after = await client.latestCursor();
    await client.createPlant({ id: 30, name: 'n' });
    const garden = `id: ${after}\ndata: {"cursor":"${after}","type":"garden.created","id":"a","at":"","data":{}}\n\n`;
    const [first] = await take(makeClient(() => new Response(garden)).changes(), 1);
    expect(first).toMatchObject({ type: 'plant.created', id: 30n });
  });

  it('end with 41000 when the cursor is too old, also after a stream', async () => {
    const after = await client.latestCursor();
    const gone = { status: 410, error: ErrorCatalogue.CHANGES_GONE.error };
    await app.restart({ CHANGE_FEED: 'on' }, () => beginEpoch(app.storeUrl));
    client = new PlantStoreClient(app.url.origin, TOKEN);
    await expect(client.changes({ after }).next()).rejects.toMatchObject(gone);
    const ended = makeClient(() => new Response(`id: ${after}\n\n`));
    await expect(ended.changes().next()).rejects.toMatchObject(gone);
  });

  it('end when their caller aborts them, even without an answer', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const next = client.changes({ signal: stop.signal }).next();
    stop.abort(reason);
    await expect(next).rejects.toBe(reason);
    const nobody = new PlantStoreClient('http://127.0.0.1:1', TOKEN, { attempts: 1 });
    await expect(nobody.changes().next()).rejects.toThrow('fetch failed');
  });
});
