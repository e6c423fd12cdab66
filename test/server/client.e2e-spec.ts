import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type NewPlant,
  type PlantQuery,
  PlantStoreClient,
  PlantStoreError,
  type StoredPlant,
} from '../../client/plant-store-client.js';
import { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';
import { PlantErrors } from '../../src/modules/plants/plants.errors.js';
import { holdTimeouts, passTimeouts, resetClocks } from '../support/clock.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

let app: TestApp;
let client: PlantStoreClient;

beforeAll(async () => {
  app = await TestApp.start();
  client = new PlantStoreClient(app.url.origin, TOKEN);
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await app.close();
});

/** Replaces fetch() for the first request. */
function atFirst(happens: typeof fetch): void {
  jest.spyOn(globalThis, 'fetch').mockImplementationOnce(happens);
}

const { fetch: send } = globalThis;

async function list(query?: PlantQuery): Promise<StoredPlant[]> {
  const plants: StoredPlant[] = [];
  for await (const plant of client.listPlants(query)) plants.push(plant);
  return plants;
}

describe('the typed client', () => {
  it.each<NewPlant>([
    { id: 1, name: 'Monstera', tag: 'indoor' },
    { id: -9223372036854775808n, name: '' },
    { id: 9007199254740993n, name: '"quotes"', tag: '🌿' },
  ])('creates the plant $id, exactly', async (plant) => {
    const { id, ...rest } = plant;
    expect(await client.createPlant(plant)).toEqual(rest);
    expect(await app.row(String(id))).toEqual({ tag: null, ...rest, id: String(id) });
  });

  it('takes a create whose answer was lost for done when it is', async () => {
    atFirst(async (...request) => {
      await send(...request);
      throw new TypeError('fetch failed');
    });
    expect(await client.createPlant({ id: 10, name: 'lost' })).toEqual({ name: 'lost' });
    expect(await app.row('10')).toBeDefined();
  });

  it('sends a create that met an unavailable store again', async () => {
    atFirst(() =>
      Promise.resolve(new Response('', { status: 503, headers: { 'Retry-After': '0' } })),
    );
    expect(await client.createPlant({ id: 11, name: 'later' })).toEqual({ name: 'later' });
  });

  it('fails with the code of the error, and does not repeat a refused request', async () => {
    await client.createPlant({ id: 12, name: 'first' });
    const fetches = jest.spyOn(globalThis, 'fetch');
    const { error, message } = PlantErrors.ID_IN_USE;
    await expect(client.createPlant({ id: 12, name: 'second' })).rejects.toEqual(
      new PlantStoreError(409, { error, message }),
    );
    await expect(client.createPlant({ id: 12, name: 'first' })).rejects.toMatchObject({
      status: 409,
      error: PlantErrors.ALREADY_EXISTS.error,
    });
    expect(fetches).toHaveBeenCalledTimes(2);
  });

  it.each([9223372036854775807n, -9223372036854775807n, 9007199254740995n, 5])(
    'reads, replaces and removes the plant %s',
    async (id) => {
      const plant = { name: 'digits 9007199254740993, "quoted" \\ 1.5', tag: '-1' };
      await client.createPlant({ id, ...plant });
      const created = await client.readPlant(id);
      expect(created).toEqual({ plant: { id: BigInt(id), ...plant }, etag: expect.any(String) });
      expect(await client.readPlant(id, created.etag)).toBeUndefined();

      expect(await client.replacePlant(id, { ...created.plant, name: 'new' })).toEqual({
        name: 'new',
        tag: '-1',
      });
      expect(await client.replacePlant(id, { name: 'newer' })).toEqual({ name: 'newer' });
      const replaced = await client.readPlant(id, created.etag);
      expect(replaced?.plant).toEqual({ id: BigInt(id), name: 'newer' });
      expect(replaced?.etag).not.toBe(created.etag);

      await client.removePlant(id);
      const { error } = PlantErrors.PLANT_NOT_FOUND;
      await expect(client.readPlant(id)).rejects.toMatchObject({ status: 404, error });
      await expect(client.replacePlant(id, plant)).rejects.toMatchObject({ error });
      await expect(client.removePlant(id)).rejects.toMatchObject({ error });
    },
  );

  it('changes a plant only while it has the ETag that was read', async () => {
    await client.createPlant({ id: 20, name: 'first' });
    const { etag } = await client.readPlant(20);
    await client.replacePlant(20, { name: 'second' }, etag);
    const { error } = ErrorCatalogue.PRECONDITION_FAILED;
    const refused = { status: 412, error };
    await expect(client.replacePlant(20, { name: 'third' }, etag)).rejects.toMatchObject(refused);
    await expect(client.removePlant(20, etag)).rejects.toMatchObject(refused);
    const current = await client.readPlant(20);
    expect(current.plant).toEqual({ id: 20n, name: 'second' });
    await client.removePlant(20, current.etag);
    expect(await app.row('20')).toBeUndefined();
  });

  it('lists all plants, page after page, from an id on or with a tag', async () => {
    const tag = 'a page & more: 100 % +🌿';
    const ids = Array.from({ length: 5 }, (_, index) => 9223372036854775000n + BigInt(index));
    for (const id of ids) await client.createPlant({ id, name: 'listed', tag });
    const fetches = jest.spyOn(globalThis, 'fetch');
    const listed = await list({ tag, limit: 2 });
    expect(listed).toEqual(ids.map((id) => ({ id, name: 'listed', tag })));
    expect(fetches).toHaveBeenCalledTimes(3);

    const rest = await list({ after: 9223372036854775002n });
    expect(rest.map(({ id }) => id)).toEqual(ids.slice(3));
    const all = await list();
    expect(all.map(({ id }) => String(id))).toEqual((await app.rows()).map(({ id }) => id));
    expect(await list({ tag: '' })).toEqual([]);
    await expect(client.listPlants({ limit: 0 }).next()).rejects.toMatchObject({
      error: ErrorCatalogue.INVALID_PARAMETERS.error,
    });
  });

  it('requests the next page only when it is needed', async () => {
    const fetches = jest.spyOn(globalThis, 'fetch');
    for await (const plant of client.listPlants({ limit: 1 })) {
      expect(plant.id).toBe(-9223372036854775808n);
      break;
    }
    expect(fetches).toHaveBeenCalledTimes(1);
  });

  it('sends a change whose answer was lost again, unless it is conditional', async () => {
    const loseAnswer: typeof fetch = async (...request) => {
      await send(...request);
      throw new TypeError('fetch failed');
    };
    await client.createPlant({ id: 30, name: 'first' });
    atFirst(loseAnswer);
    expect(await client.replacePlant(30, { name: 'second' })).toEqual({ name: 'second' });
    atFirst(loseAnswer);
    expect((await client.readPlant(30)).plant).toEqual({ id: 30n, name: 'second' });

    const { etag } = await client.readPlant(30);
    atFirst(loseAnswer);
    await expect(client.replacePlant(30, { name: 'third' }, etag)).rejects.toThrow('fetch failed');
    expect((await client.readPlant(30)).plant.name).toBe('third');

    atFirst(loseAnswer);
    await client.removePlant(30);
    expect(await app.row('30')).toBeUndefined();
  });

  it('changes single members of a plant', async () => {
    const id = 9007199254740993n + 40n;
    await client.createPlant({ id, name: 'a', tag: 't' });
    expect(await client.patchPlant(id, { name: 'b' })).toEqual({ name: 'b', tag: 't' });
    expect(await client.patchPlant(id, { tag: null })).toEqual({ name: 'b' });
    const { etag } = await client.readPlant(id);
    await client.patchPlant(id, { tag: 'u' }, etag);
    const { error } = ErrorCatalogue.PRECONDITION_FAILED;
    await expect(client.patchPlant(id, { tag: 'v' }, etag)).rejects.toMatchObject({ error });
    await client.removePlant(id);
  });

  it('imports plants from any iterable, and exports the plants of a query', async () => {
    const ids = Array.from({ length: 1_100 }, (_, index) => 9100000000000000001n + BigInt(index));
    async function* plants(): AsyncGenerator<NewPlant> {
      for (const id of ids) yield await Promise.resolve({ id, name: `Import ${id}` });
    }
    const counts = { identical: 0, failed: 0, failures: [] };
    expect(await client.importPlants(plants())).toEqual({ ...counts, created: ids.length });
    const first = [{ id: ids[0] ?? 0, name: 'other' }];
    expect(await client.importPlants(first)).toMatchObject({
      failures: [{ line: 1, error: 40900 }],
    });
    expect(await client.importPlants([])).toEqual({ ...counts, created: 0 });

    const exported: bigint[] = [];
    for await (const { id } of client.exportPlants({ name: 'IMPORT ' })) exported.push(id);
    expect(exported).toEqual(ids);
    const listed = await list({ name: 'import ', sort: '-name', limit: 1_000 });
    expect(listed.map(({ id }) => id)).toEqual(ids.toReversed());
    const [highest] = (await app.rows()).toReversed();
    for await (const { id } of client.exportPlants({ sort: '-id', limit: 1 })) {
      expect(String(id)).toBe(highest?.id);
    }
    await expect(client.exportPlants({ name: '' }).next()).rejects.toMatchObject({ error: 40003 });
  });

  it('passes on an error of the source of an import', async () => {
    function* plants(): Generator<NewPlant> {
      yield { id: 1, name: 'n' };
      throw new TypeError('the file ends');
    }
    await expect(client.importPlants(plants())).rejects.toThrow('the file ends');
  });

  it.each([2 ** 53, -(2 ** 53), 1.5, NaN, Infinity])('refuses the number %s', async (id) => {
    const fetches = jest.spyOn(globalThis, 'fetch');
    await expect(client.createPlant({ id, name: 'n' })).rejects.toThrow(RangeError);
    await expect(client.readPlant(id)).rejects.toThrow(RangeError);
    await expect(client.listPlants({ after: id }).next()).rejects.toThrow(RangeError);
    expect(fetches).not.toHaveBeenCalled();
  });

  it('takes a URL with a slash at its end', async () => {
    const slashed = new PlantStoreClient(`${app.url.origin}/`, TOKEN);
    expect(await slashed.createPlant({ id: 50, name: 'n' })).toEqual({ name: 'n' });
  });

  it.each([429, 502, 503, 504])('sends again what was answered %i', async (status) => {
    const html = new Response('<html>', { status, headers: { 'Retry-After': '0' } });
    atFirst(() => Promise.resolve(html));
    expect((await client.readPlant(50)).plant.name).toBe('n');
  });

  it('waits no longer than its time limit, whatever Retry-After says', async () => {
    const headers = { 'Retry-After': '86400' };
    const answers = [new Response('', { status: 503, headers }), new Response('{"name":"n"}')];
    const impatient = new PlantStoreClient(app.url.origin, TOKEN, {
      timeoutMs: 50,
      fetch: () => Promise.resolve(answers.shift() ?? new Response('', { status: 401 })),
    });
    expect(await impatient.patchPlant(50, {})).toEqual({ name: 'n' });
  });

  it("makes an error of an answer that is not the service's", async () => {
    const retryAfter = new Date(Date.now() + 60_000).toUTCString();
    const proxied = new PlantStoreClient(app.url.origin, TOKEN, {
      attempts: 1,
      fetch: () =>
        Promise.resolve(
          new Response('<html>', { status: 502, headers: { 'Retry-After': retryAfter } }),
        ),
    });
    const error = await proxied.readPlant(50).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(PlantStoreError);
    expect(error).toMatchObject({ status: 502, error: 50200 });
    expect((error as PlantStoreError).retryAfter).toBeGreaterThan(0);
  });

  describe('of a server that is silent', () => {
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
      const fetches = jest.spyOn(globalThis, 'fetch');
      const impatient = new PlantStoreClient(url, TOKEN, { attempts: 2 });
      holdTimeouts();
      try {
        await expectTimeout(impatient.readPlant(1));
        expect(fetches).toHaveBeenCalledTimes(2);
        await expectTimeout(impatient.importPlants([]));
        expect(fetches).toHaveBeenCalledTimes(3);
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
      ];
      stop.abort(reason);
      for (const call of calls) await expect(call).rejects.toBe(reason);
      await expect(patient.readPlant(1, undefined, { signal })).rejects.toBe(reason);
    });
  });
});
