import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type NewPlant, PlantStoreClient, PlantStoreError } from '../client/plant-store-client.js';
import { PlantErrors } from '../src/plants/plants.errors.js';
import { TestApp, TOKEN } from './support/test-app.js';

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

  it('has the types of openapi.json; after a change run: npm run openapi', () => {
    const root = new URL('../', import.meta.url);
    const types = execFileSync(process.execPath, ['scripts/api-types.mjs'], { cwd: root });
    expect(types.toString()).toBe(readFileSync(new URL('client/api-types.d.ts', root), 'utf8'));
  });
});
