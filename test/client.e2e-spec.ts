import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import {
  type NewPlant,
  type PlantQuery,
  PlantStoreClient,
  PlantStoreError,
  type StoredPlant,
} from '../client/plant-store-client.js';
import { ErrorCatalogue } from '../src/platform/errors/error-catalogue.js';
import { PlantErrors } from '../src/modules/plants/plants.errors.js';
import { TestApp } from './support/test-app.js';
import { TOKEN } from './support/token.js';

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

/** What happens to the first request instead. */
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

  it('fails with the code of the error, and does not repeat what was refused', async () => {
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

  it('asks for the next page only when it is needed', async () => {
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

  it('has the types of openapi.json; after a change run: npm run openapi', () => {
    const root = new URL('../', import.meta.url);
    const types = execFileSync(process.execPath, ['scripts/api-types.mjs'], { cwd: root });
    expect(types.toString()).toBe(readFileSync(new URL('client/api-types.d.ts', root), 'utf8'));
  });
});
