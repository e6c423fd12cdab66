import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type PlantChange, PlantStoreClient } from '../../client/plant-store-client.js';
import { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';
import { untilWaiting } from '../support/change-feed.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

let app: TestApp;
let client: PlantStoreClient;

beforeAll(async () => {
  app = await TestApp.start({ CHANGE_FEED: 'on', SHUTDOWN_GRACE_MS: '0' });
  client = new PlantStoreClient(app.url.origin, TOKEN);
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
  for (const answer of answers) send.mockImplementationOnce(async () => Promise.resolve(answer()));
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
    const changes = client.changes();
    const first = changes.next();
    await untilWaiting(app, 1);
    await client.createPlant({ id: 1, name: 'next' });
    expect((await first).value).toMatchObject({ data: { id: 1n, name: 'next' } });
    await changes.return();
  });

  it('are requested again after empty pages, lost answers and any failure of the service', async () => {
    const after = await client.latestCursor();
    for (const id of [10, 11, 12]) await client.createPlant({ id, name: 'n' });
    const retryAtOnce = { status: 503, headers: { 'Retry-After': '0' } };
    const failures = Array.from({ length: 8 }, () => () => new Response('', retryAtOnce));
    const lost = (): Response => {
      throw new TypeError('fetch failed');
    };
    const broken = makeClient(lost, () => new Response('[]'), ...failures);
    const changes = await take(broken.changes({ after }), 3);
    expect(changes.map(({ id }) => id)).toEqual([10n, 11n, 12n]);
  });

  it('leave out those of other rows', async () => {
    const after = await client.latestCursor();
    await client.createPlant({ id: 30, name: 'n' });
    const garden = `[{"cursor":"${after}","type":"garden.created","id":"a","at":"","data":{}}]`;
    const [first] = await take(makeClient(() => new Response(garden)).changes({ after }), 1);
    expect(first).toMatchObject({ type: 'plant.created', id: 30n });
  });

  it('wait for less than the time limit of an attempt', async () => {
    const send = jest.fn<typeof fetch>(() => Promise.resolve(new Response('', { status: 401 })));
    const options = { timeoutMs: 5_000, fetch: send };
    const impatient = new PlantStoreClient(app.url.origin, TOKEN, options);
    await expect(impatient.changes({ after: '0.0123456789ab' }).next()).rejects.toMatchObject({
      status: 401,
    });
    const url = `${app.url.origin}/changes?after=0.0123456789ab&wait=4`;
    expect(send).toHaveBeenCalledWith(url, expect.anything());
  });

  it('end with 41000 when the cursor is not kept', async () => {
    const gone = { status: 410, error: ErrorCatalogue.CHANGES_GONE.error };
    await expect(client.changes({ after: '0.0123456789ab' }).next()).rejects.toMatchObject(gone);
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
