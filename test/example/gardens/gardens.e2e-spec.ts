import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectError } from '../../support/expect-error.js';
import { type Members, pathTo, writeMembers } from '../../support/members.js';
import { TestApp } from '../../support/test-app.js';
import { addToSchema } from '../../support/add-to-schema.js';
import { EXAMPLE_MODULES, EXAMPLE_SCHEMA } from '../example.js';
import { makeGarden } from './gardens.error-fixtures.js';
import { GardenErrors } from './gardens.errors.js';

addToSchema(EXAMPLE_SCHEMA);

let app: TestApp;
/** All stored gardens. */
let rows: readonly [Members, Members, Members];

beforeAll(async () => {
  app = await TestApp.start({}, ...EXAMPLE_MODULES);
});
afterAll(() => app.close());

beforeEach(async () => {
  rows = [await create(makeGarden(1)), await create(makeGarden(2)), await create(makeGarden(3))];
});
afterEach(async () => {
  for (const stored of rows) await app.delete(path(stored));
});

function path(stored: Members): string {
  return pathTo('gardens', { id: stored.id });
}

/** Creates a garden, and resolves with the stored members. */
async function create(members: Members): Promise<Members> {
  const { status, headers, text } = await app.post('/gardens', writeMembers(members));
  const stored = { id: /"id":("[^"]*"|-?\d+)/.exec(text)?.[1], ...members };
  expect({ status, text }).toEqual({ status: 201, text: writeMembers(stored) });
  expect(headers.get('location')).toBe(path(stored));
  return stored;
}

describe('/gardens', () => {
  it('has a garden as it was created and replaced, until it is removed', async () => {
    const [stored] = rows;
    const { text } = await app.get(path(stored));
    expect(text).toBe(writeMembers(stored));
    const next: Members = { ...stored, ...makeGarden(4), id: stored.id };
    expect(await app.put(path(stored), writeMembers(next))).toMatchObject({ status: 200 });
    expect((await app.get(path(stored))).text).toBe(writeMembers(next));
    expect(await app.delete(path(stored))).toMatchObject({ status: 204, text: '' });
    for (const answer of [
      await app.get(path(stored)),
      await app.put(path(stored), writeMembers(next)),
      await app.patch(path(stored), '{}'),
      await app.delete(path(stored)),
    ]) {
      expectError(answer, GardenErrors.GARDEN_NOT_FOUND);
    }
  });

  it('changes the members of a merge patch, and removes one that is null', async () => {
    const [stored] = rows;
    const other: Members = makeGarden(4);
    const answer = await app.patch(path(stored), writeMembers({ name: other.name, note: 'null' }));
    expect(answer).toMatchObject({ status: 200 });
    const { text } = await app.get(path(stored));
    expect(text).toBe(writeMembers({ ...stored, name: other.name, note: undefined }));
  });

  it('changes a garden only where If-Match has its ETag', async () => {
    const [stored] = rows;
    const { headers } = await app.get(path(stored));
    const condition = { 'If-Match': headers.get('etag') ?? '' };
    const next = writeMembers(makeGarden(4));
    expect(await app.put(path(stored), next, condition)).toMatchObject({ status: 200 });
    expectError(await app.delete(path(stored), condition), 'PRECONDITION_FAILED');
  });

  it('lists gardens in pages, each with a link to the next', async () => {
    const page = await app.get('/gardens?limit=2');
    expect(page.text).toBe(`[${rows.slice(0, 2).map(writeMembers).join()}]`);
    const last = await app.get(page.next ?? '');
    expect(last.text).toBe(`[${writeMembers(rows[2])}]`);
    expect(last.headers.has('link')).toBe(false);
  });

  it.each(['name', 'area'])('lists those with one %s', async (name) => {
    const value = encodeURIComponent(rows[1][name]?.replaceAll('"', '') ?? '');
    const { text } = await app.get(`/gardens?${name}=${value}`);
    expect(text).toBe(`[${writeMembers(rows[1])}]`);
  });

  it.each(['area'])('lists gardens by %s, up and down', async (name) => {
    const up = await app.get(`/gardens?sort=${name}`);
    expect(up.text).toBe(`[${rows.map(writeMembers).join()}]`);
    const down = await app.get(`/gardens?sort=-${name}`);
    expect(down.text).toBe(`[${rows.toReversed().map(writeMembers).join()}]`);
  });

  it.each<[string, string | undefined, string]>([
    ['name', undefined, 'name is missing'],
    ['kind', undefined, 'kind is missing'],
    ['area', undefined, 'area is missing'],
    ['openedAt', undefined, 'openedAt is missing'],
    ['name', '1', 'name must be a string'],
    ['kind', '"?"', 'kind must be one of the following values: flower, herb'],
    ['area', '"1"', 'area must be a number from'],
    ['openedAt', '"2026-02-30T10:00:00Z"', 'openedAt must be a date-time'],
    ['note', '1', 'note must be a string'],
    ['details', '{"n":1,"n":2}', 'details must be JSON'],
  ])('refuses %s of %s: %s', async (name, value, fault) => {
    const garden: Members = { ...makeGarden(4), [name]: value };
    const answer = await app.post('/gardens', writeMembers(garden));
    expectError(answer, 'INVALID_BODY', expect.stringContaining(fault));
  });
});
