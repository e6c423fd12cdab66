import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectError } from '../../support/expect-error.js';
import { type Members, pathTo, writeMembers } from '../../support/members.js';
import { TestApp } from '../../support/test-app.js';
import { addToSchema } from '../../support/add-to-schema.js';
import { EXAMPLE_MODULES, EXAMPLE_SCHEMA } from '../example.js';
import { makePlanting } from './plantings.error-fixtures.js';
import { PlantingErrors } from './plantings.errors.js';

addToSchema(EXAMPLE_SCHEMA);

let app: TestApp;
/** All stored plantings. */
let rows: readonly [Members, Members, Members];

beforeAll(async () => {
  app = await TestApp.start({}, ...EXAMPLE_MODULES);
});
afterAll(() => app.close());

beforeEach(async () => {
  rows = [
    await create(await makePlanting(app, 1)),
    await create(await makePlanting(app, 2)),
    await create(await makePlanting(app, 3)),
  ];
});
afterEach(async () => {
  for (const stored of rows) await app.delete(path(stored));
});

function path(stored: Members): string {
  return pathTo('plantings', { gardenId: stored.gardenId, plantId: stored.plantId });
}

/** Creates a planting, and resolves with the stored members. */
async function create(members: Members): Promise<Members> {
  expect(await app.post('/plantings', writeMembers(members))).toMatchObject({ status: 200 });
  return members;
}

describe('/plantings', () => {
  it('has a planting as it was created and replaced, until it is removed', async () => {
    const [stored] = rows;
    const { text } = await app.get(path(stored));
    expect(text).toBe(writeMembers(stored));
    const next: Members = {
      ...stored,
      ...(await makePlanting(app, 4)),
      gardenId: stored.gardenId,
      plantId: stored.plantId,
    };
    expect(await app.put(path(stored), writeMembers(next))).toMatchObject({ status: 200 });
    expect((await app.get(path(stored))).text).toBe(writeMembers(next));
    expect(await app.delete(path(stored))).toMatchObject({ status: 204, text: '' });
    for (const answer of [
      await app.get(path(stored)),
      await app.put(path(stored), writeMembers(next)),
      await app.patch(path(stored), '{}'),
      await app.delete(path(stored)),
    ]) {
      expectError(answer, PlantingErrors.PLANTING_NOT_FOUND);
    }
  });

  it('changes the members of a merge patch', async () => {
    const [stored] = rows;
    const other: Members = await makePlanting(app, 4);
    const answer = await app.patch(path(stored), writeMembers({ plantedOn: other.plantedOn }));
    expect(answer).toMatchObject({ status: 200 });
    const { text } = await app.get(path(stored));
    expect(text).toBe(writeMembers({ ...stored, plantedOn: other.plantedOn }));
  });

  it('changes a planting only where If-Match has its ETag', async () => {
    const [stored] = rows;
    const { headers } = await app.get(path(stored));
    const condition = { 'If-Match': headers.get('etag') ?? '' };
    const next = writeMembers(await makePlanting(app, 4));
    expect(await app.put(path(stored), next, condition)).toMatchObject({ status: 200 });
    expectError(await app.delete(path(stored), condition), 'PRECONDITION_FAILED');
  });

  it('lists plantings in pages, each with a link to the next', async () => {
    const page = await app.get('/plantings?limit=2');
    expect(page.text).toBe(`[${rows.slice(0, 2).map(writeMembers).join()}]`);
    const last = await app.get(page.next ?? '');
    expect(last.text).toBe(`[${writeMembers(rows[2])}]`);
    expect(last.headers.has('link')).toBe(false);
  });

  it.each(['gardenId', 'plantId', 'plantedOn'])('lists those with one %s', async (name) => {
    const value = encodeURIComponent(rows[1][name]?.replaceAll('"', '') ?? '');
    const { text } = await app.get(`/plantings?${name}=${value}`);
    expect(text).toBe(`[${writeMembers(rows[1])}]`);
  });

  it.each(['plantedOn'])('lists plantings by %s, up and down', async (name) => {
    const up = await app.get(`/plantings?sort=${name}`);
    expect(up.text).toBe(`[${rows.map(writeMembers).join()}]`);
    const down = await app.get(`/plantings?sort=-${name}`);
    expect(down.text).toBe(`[${rows.toReversed().map(writeMembers).join()}]`);
  });

  it.each<[string, string | undefined, string]>([
    ['gardenId', undefined, 'gardenId is missing'],
    ['plantId', undefined, 'plantId is missing'],
    ['plantedOn', undefined, 'plantedOn is missing'],
    ['quantity', undefined, 'quantity is missing'],
    ['gardenId', '"1"', 'gardenId must be a UUID'],
    ['plantId', '"1"', 'plantId must be an integer from'],
    ['plantedOn', '"2026-02-30"', 'plantedOn must be a date from'],
    ['quantity', '1.5', 'quantity must be an integer from'],
  ])('refuses %s of %s: %s', async (name, value, fault) => {
    const planting: Members = { ...(await makePlanting(app, 4)), [name]: value };
    const answer = await app.post('/plantings', writeMembers(planting));
    expectError(answer, 'INVALID_BODY', expect.stringContaining(fault));
  });
});
