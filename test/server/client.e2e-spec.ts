import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { holdTimeouts, passTimeouts, resetClocks, TOKEN, until } from 'durable-rest/testing';
import {
  type ClientOptions,
  type NewPlant,
  type PlantChange,
  PlantStoreClient,
  PlantStoreError,
} from '../../client/plant-store-client.js';
import { untilWaiting } from '../support/change-feed.js';
import { TestApp } from '../support/test-app.js';

const app = TestApp.forAll({ CHANGE_FEED: 'on', SHUTDOWN_GRACE_MS: '0' });
let client: PlantStoreClient;

beforeAll(() => {
  client = makeClient();
});

/** How many requests the clients have sent since the last one was made. */
let sent = 0;

/** Makes a client whose first requests are answered like this, and the others by the service. */
function makeClient(...answers: (typeof fetch)[]): PlantStoreClient {
  sent = 0;
  const send: typeof fetch = (...request) => {
    sent++;
    return (answers.shift() ?? fetch)(...request);
  };
  return new PlantStoreClient(`${app.url.origin}/`, TOKEN, { fetch: send });
}

/** Makes an answer for {@link makeClient}. */
function answer(body: string, status = 200, headers: Record<string, string> = {}): typeof fetch {
  return () => Promise.resolve(new Response(body, { status, headers }));
}

const loseAnswer: typeof fetch = async (...request) => {
  await fetch(...request);
  throw new TypeError('fetch failed');
};

async function take<Item>(items: AsyncIterable<Item>, count = Infinity): Promise<Item[]> {
  const taken: Item[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}

describe('the typed client', () => {
  it.each([-9223372036854775808n, 9007199254740993n, 5])(
    'creates, reads, changes and removes the plant %s, exactly',
    async (id) => {
      const plant = { name: 'digits 9007199254740993, "quoted" \\ 1.5', tag: '🌿' };
      expect(await client.createPlant({ id, ...plant })).toEqual(plant);
      expect(await app.row(String(id))).toEqual({ ...plant, id: String(id) });
      const { etag, ...created } = await client.readPlant(id);
      expect(created).toEqual({ plant: { id: BigInt(id), ...plant } });
      expect(await client.readPlant(id, etag)).toBeUndefined();

      expect(await client.patchPlant(id, { tag: null })).toEqual({ name: plant.name });
      expect(await client.replacePlant(id, { name: 'b', tag: '-1' })).toEqual({
        name: 'b',
        tag: '-1',
      });
      const refused = { status: 412, error: 41200 };
      await expect(client.replacePlant(id, plant, etag)).rejects.toMatchObject(refused);
      await expect(client.patchPlant(id, {}, etag)).rejects.toMatchObject(refused);
      await expect(client.removePlant(id, etag)).rejects.toMatchObject(refused);
      const current = await client.readPlant(id, etag);
      expect(current?.plant).toEqual({ id: BigInt(id), name: 'b', tag: '-1' });

      await client.removePlant(id, current?.etag);
      const missing = { status: 404, error: 40401 };
      await expect(client.readPlant(id)).rejects.toMatchObject(missing);
      await expect(client.replacePlant(id, plant)).rejects.toMatchObject(missing);
      await expect(client.removePlant(id)).rejects.toMatchObject(missing);
    },
  );

  it.each<[proxy: string, change: (tag: string) => string]>([
    ['nginx and HAProxy', (tag) => `W/"${tag}"`],
    ['Apache, by gzip', (tag) => `"${tag}-gzip"`],
    ['Apache, by Brotli', (tag) => `"${tag}-br"`],
    ['Caddy, by Zstandard', (tag) => `"${tag}-zstd"`],
    ['two proxies', (tag) => `W/"${tag}-gzip"`],
  ])('changes a plant with its ETag as changed by %s', async (_, change) => {
    const compressing: typeof fetch = async (...request) => {
      const answered = await fetch(...request);
      const headers = new Headers(answered.headers);
      const [, tag = ''] = /^"(.+)"$/.exec(headers.get('etag') ?? '') ?? [];
      headers.set('ETag', change(tag));
      return new Response(await answered.text(), { status: 200, headers });
    };
    await client.createPlant({ id: 60, name: 'a', tag: 't' });
    const read = async (): Promise<string> => (await makeClient(compressing).readPlant(60)).etag;
    const etag = await read();
    expect(etag).toMatch(/^W|-/);
    expect(await client.readPlant(60, etag)).toBeUndefined();
    expect(await client.replacePlant(60, { name: 'b' }, etag)).toEqual({ name: 'b' });
    await expect(client.replacePlant(60, { name: 'c' }, etag)).rejects.toMatchObject({
      error: 41200,
    });
    expect(await client.patchPlant(60, { name: 'c' }, await read())).toEqual({ name: 'c' });
    await client.removePlant(60, `"x", ${await read()}`);
    expect(await app.row('60')).toBeUndefined();
  });

  it.each([
    ['"0123456789abcdefghi-br"', '"0123456789abcdefghi-br"'],
    ['W/"0123456789abcdefg-gzip"', '"0123456789abcdefg-gzip"'],
    ['"0123456789abcdefghi-br-gzip"', '"0123456789abcdefghi-br"'],
    ['"a-gzip", W/"b-br", "c"', '"a", "b", "c"'],
    ['*', '*'],
  ])('sends the ETag %s as %s', async (etag, ownEtag) => {
    const send = jest.fn(answer('{}'));
    const recording = new PlantStoreClient(app.url.origin, TOKEN, { fetch: send });
    await recording.readPlant(1, etag);
    await recording.patchPlant(1, {}, etag);
    const headers = send.mock.calls.map(([, init]) => init?.headers);
    expect(headers).toEqual([
      expect.objectContaining({ 'If-None-Match': ownEtag }),
      expect.objectContaining({ 'If-Match': ownEtag }),
    ]);
  });

  it('sends again whatever is safe to repeat, and takes it for done when it is', async () => {
    const lost = (): PlantStoreClient => makeClient(loseAnswer);
    expect(await lost().createPlant({ id: 30, name: 'a' })).toEqual({ name: 'a' });
    expect(await lost().replacePlant(30, { name: 'b' })).toEqual({ name: 'b' });
    const { plant, etag } = await lost().readPlant(30);
    expect(plant).toEqual({ id: 30n, name: 'b' });
    await expect(lost().replacePlant(30, { name: 'c' }, etag)).rejects.toThrow('fetch failed');
    expect((await client.readPlant(30)).plant.name).toBe('c');
    await lost().removePlant(30);
    expect(await app.row('30')).toBeUndefined();
  });

  it.each([Infinity, 30 * 24 * 3_600_000])('takes the time limit of %s ms', async (timeoutMs) => {
    const patient = new PlantStoreClient(app.url.origin, TOKEN, { timeoutMs, attempts: 1 });
    const id = timeoutMs === Infinity ? 40 : 41;
    expect(await patient.createPlant({ id, name: 'a' })).toEqual({ name: 'a' });
  });

  it.each<[fault: string, url: string, token: string, options: ClientOptions, error: string]>([
    ['a host for a URL', 'localhost:3000', TOKEN, {}, 'http://'],
    ['a path for a URL', '/plants', TOKEN, {}, 'Invalid URL'],
    ['a token with a line feed', 'http://localhost', 'a\nb', {}, 'The token has a character'],
    ['a token beyond Latin-1', 'http://localhost', '🌿', {}, 'The token has a character'],
    ['no time at all', 'http://localhost', TOKEN, { timeoutMs: 0 }, 'timeoutMs is 0'],
    ['no number for a time', 'http://localhost', TOKEN, { timeoutMs: NaN }, 'timeoutMs is NaN'],
  ])('refuses %s when it is made', (_, url, token, options, error) => {
    expect(() => new PlantStoreClient(url, token, options)).toThrow(error);
  });

  it.each<[string, unknown]>([
    ['a text', '7,"name":"other"'],
    ['a path', '../health/live'],
    ['digits', '7'],
    ['nothing', undefined],
    ['a fraction', 1.5],
  ])('refuses %s for an id, from a program without types', async (_, value) => {
    const counted = makeClient();
    const id = value as bigint;
    await expect(counted.readPlant(id)).rejects.toThrow(/is no id|is not an integer/);
    await expect(counted.createPlant({ id, name: 'a' })).rejects.toThrow(
      /is no id|is not an integer/,
    );
    expect(sent).toBe(0);
  });

  it.each([429, 502, 503, 504])('sends again what was answered %i', async (status) => {
    const busy = makeClient(answer('<html>', status, { 'Retry-After': '0' }));
    expect(await busy.createPlant({ id: status, name: 'n' })).toEqual({ name: 'n' });
  });

  it('fails with the code of the error, and does not repeat a refused request', async () => {
    const counted = makeClient();
    await counted.createPlant({ id: 12, name: 'first' });
    const error = { error: 40900, message: 'The id is in use by a different plant' };
    const failure = new PlantStoreError(409, error);
    await expect(counted.createPlant({ id: 12, name: 'second' })).rejects.toEqual(failure);
    expect(sent).toBe(2);
  });

  it("makes an error of an answer that is not the service's", async () => {
    const headers = { 'Retry-After': new Date(Date.now() + 60_000).toUTCString() };
    const send = answer('<html>', 502, headers);
    const proxied = new PlantStoreClient(app.url.origin, TOKEN, { attempts: 1, fetch: send });
    const error = await proxied.readPlant(50).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PlantStoreError);
    expect(error).toMatchObject({ status: 502, error: 50200 });
    expect((error as PlantStoreError).retryAfter).toBeGreaterThan(0);
    const other = makeClient(answer('{"error":5}', 400));
    await expect(other.readPlant(50)).rejects.toMatchObject({ status: 400, error: 40000 });
    await expect(makeClient(answer('')).createPlant({ id: 50, name: 'n' })).rejects.toThrow('JSON');
  });

  it('reads an id exactly, however a proxy has formatted the JSON', async () => {
    const plant = String.raw`{ "id" : 9007199254740993, "name": "\"id\" : 1" }`;
    const read = { id: 9007199254740993n, name: '"id" : 1' };
    expect((await makeClient(answer(plant)).readPlant(1)).plant).toEqual(read);
  });

  it('lists plants page after page, as they are needed', async () => {
    const tag = 'a page & more: 100 % +🌿';
    const ids = Array.from({ length: 5 }, (_, index) => 9223372036854775000n + BigInt(index));
    for (const id of ids) await client.createPlant({ id, name: 'listed', tag });
    const counted = makeClient();
    const listed = await take(counted.listPlants({ tag, limit: 2 }));
    expect(listed).toEqual(ids.map((id) => ({ id, name: 'listed', tag })));
    expect(sent).toBe(3);
    await take(counted.listPlants({ tag, limit: 1 }), 1);
    expect(sent).toBe(4);
    const rest = await take(client.listPlants({ after: 9223372036854775002n }));
    expect(rest.map(({ id }) => id)).toEqual(ids.slice(3));
    await expect(client.listPlants({ limit: 0 }).next()).rejects.toMatchObject({ error: 40003 });
  });

  it('imports plants from any iterable, and exports the plants of a query', async () => {
    const ids = Array.from({ length: 1_100 }, (_, index) => 9100000000000000001n + BigInt(index));
    async function* plants(): AsyncGenerator<NewPlant> {
      for (const id of ids) yield await Promise.resolve({ id, name: `Import ${id}` });
    }
    const counts = { identical: 0, failed: 0, failures: [] };
    const sentLines: number[] = [];
    const onProgress = (lines: number): void => void sentLines.push(lines);
    const imported = await client.importPlants(plants(), { onProgress });
    expect(imported).toEqual({ ...counts, created: ids.length });
    // The lines are sent in several pieces.
    expect(sentLines.length).toBeGreaterThan(1);
    expect(sentLines).toEqual(sentLines.toSorted((a, b) => a - b));
    expect(sentLines.at(-1)).toBe(ids.length);
    const first = [{ id: ids[0] ?? 0, name: 'other' }];
    const failures = [{ line: 1, error: 40900 }];
    expect(await client.importPlants(first)).toMatchObject({ failures });
    expect(await client.importPlants([])).toEqual({ ...counts, created: 0 });

    const exported = await take(client.exportPlants({ name: 'IMPORT ', sort: '-name' }));
    expect(exported.map(({ id }) => id)).toEqual(ids.toReversed());
    expect(await take(client.exportPlants({ sort: '-id', limit: 1 }))).toHaveLength(1);
    await expect(client.exportPlants({ name: '' }).next()).rejects.toMatchObject({ error: 40003 });
  });

  it.each([2 ** 53, -(2 ** 53), 1.5, NaN, Infinity])('refuses the number %s', async (id) => {
    const counted = makeClient();
    await expect(counted.createPlant({ id, name: 'n' })).rejects.toThrow(RangeError);
    await expect(counted.readPlant(id)).rejects.toThrow(RangeError);
    await expect(counted.listPlants({ after: id }).next()).rejects.toThrow(RangeError);
    expect(sent).toBe(0);
    await expect(counted.importPlants([{ id, name: 'n' }])).rejects.toThrow(RangeError);
  });
});

describe('the typed client of a server that is silent', () => {
  let silent: Server;
  let url: string;

  beforeAll(async () => {
    silent = createServer((request, response) => {
      request.resume();
      // An export begins, and then falls silent.
      if (request.headers.accept === 'application/x-ndjson') {
        response.writeHead(200).write('{"id":1,"name":"n"}\n');
      }
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    silent.closeAllConnections();
    silent.close();
  });

  /** Lets time pass until the call gives up. */
  async function expectTimeout(call: Promise<unknown>): Promise<void> {
    const ended = jest.fn();
    call.then(ended, ended);
    await until(() => {
      passTimeouts(1_000);
      return ended.mock.calls.length > 0;
    });
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
  }

  it('gives up after its time and its attempts', async () => {
    const send = jest.fn(fetch);
    const impatient = new PlantStoreClient(url, TOKEN, { attempts: 2, fetch: send });
    holdTimeouts();
    try {
      await expectTimeout(impatient.readPlant(1));
      expect(send).toHaveBeenCalledTimes(2);
      await expectTimeout(impatient.importPlants([]));
      expect(send).toHaveBeenCalledTimes(3);
      const lines = impatient.exportPlants();
      expect(await lines.next()).toMatchObject({ value: { id: 1n } });
      await expectTimeout(lines.next());
    } finally {
      resetClocks();
    }
  });

  it('gives up when its caller aborts it', async () => {
    const patient = new PlantStoreClient(url, TOKEN);
    const reason = new Error('enough');
    const stop = new AbortController();
    const { signal } = stop;
    const calls = [
      patient.createPlant({ id: 1, name: 'n' }, { signal }),
      patient.readPlant(1, undefined, { signal }),
      patient.replacePlant(1, { name: 'n' }, undefined, { signal }),
      patient.patchPlant(1, {}, undefined, { signal }),
      patient.removePlant(1, undefined, { signal }),
      patient.listPlants({}, { signal }).next(),
      patient.importPlants([], { signal }),
      patient.changes({ signal }).next(),
    ];
    stop.abort(reason);
    for (const call of calls) await expect(call).rejects.toBe(reason);
    await expect(patient.readPlant(1, undefined, { signal })).rejects.toBe(reason);
  });
});

describe('the changes of the typed client', () => {
  const ID = 9007199254740995n;

  it('arrive as they happen, with exact ids and every name, until the caller stops', async () => {
    const changes = client.changes({ after: await client.latestCursor() });
    const data = { id: ID, name: '9007199254740993 a\u2028b\u2029c\u0085d', tag: 't' };
    await client.createPlant(data);
    await client.replacePlant(ID, { name: 'second' });
    const [created, replaced] = await take(changes, 2);
    expect(created).toMatchObject({ type: 'plant.created', id: ID, data });
    expect(replaced).toMatchObject({ type: 'plant.replaced', data: { id: ID, name: 'second' } });

    await client.removePlant(ID);
    const [removed] = await take(client.changes({ after: replaced?.cursor }), 1);
    const { cursor, at } = removed ?? {};
    expect(removed).toEqual({ cursor, type: 'plant.removed', id: ID, at });
    expect(cursor).toBe(await client.latestCursor());
  });

  it('begin with the next change', async () => {
    const changes = client.changes();
    const first = changes.next();
    await untilWaiting(app, 1);
    await client.createPlant({ id: 1, name: 'next' });
    expect((await first).value).toMatchObject({ data: { id: 1n, name: 'next' } });
    await changes.return();
  });

  it('are requested again after pages without plants, lost answers and any failure of the service', async () => {
    const after = await client.latestCursor();
    for (const id of [10, 11, 13]) await client.createPlant({ id, name: 'n' });
    const failures = Array.from({ length: 8 }, () => answer('', 503, { 'Retry-After': '0' }));
    const other = { cursor: after, type: 'bed.created', id: 'a', at: '', data: { id: 1.5 } };
    const others = answer(JSON.stringify([other]));
    const changes: PlantChange[] = await take(
      makeClient(loseAnswer, answer('[]'), others, ...failures).changes({ after }),
      3,
    );
    expect(changes.map(({ id }) => id)).toEqual([10n, 11n, 13n]);
  });

  it('wait for less than the time limit of an attempt', async () => {
    const send = jest.fn(answer('', 401));
    const options = { timeoutMs: 5_000, fetch: send };
    const impatient = new PlantStoreClient(app.url.origin, TOKEN, options);
    const next = impatient.changes({ after: '0.0123456789ab' }).next();
    await expect(next).rejects.toMatchObject({ status: 401 });
    const url = `${app.url.origin}/changes?after=0.0123456789ab&wait=4`;
    expect(send).toHaveBeenCalledWith(url, expect.anything());
  });

  it('end with 41000 when the cursor is not kept, and with the failure of the last attempt', async () => {
    const gone = { status: 410, error: 41000 };
    await expect(client.changes({ after: '0.0123456789ab' }).next()).rejects.toMatchObject(gone);
    const nobody = new PlantStoreClient('http://127.0.0.1:1', TOKEN, { attempts: 1 });
    await expect(nobody.changes().next()).rejects.toThrow('fetch failed');
  });
});
