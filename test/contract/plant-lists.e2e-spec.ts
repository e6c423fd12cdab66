import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Answer, expectError } from 'durable-rest/testing';
import { TestApp } from '../support/test-app.js';

const LINES = { Accept: 'application/x-ndjson' };
const LONG = 'L'.repeat(64);

/** In the order of the first 64 code points with A to Z as small letters, then of the ids. */
const BY_NAME: readonly (readonly [id: string, name: string])[] = [
  ['20', ''],
  ['21', ' space'],
  ['22', '%_'],
  ['33', '['],
  ['34', '_'],
  ['23', 'A'],
  ['24', 'a'],
  ['26', 'ab'],
  ['25', 'a\u0301'],
  ['27', 'i\u0307'],
  ['-3', `${LONG}b`],
  ['-2', `${LONG.toLowerCase()}a`],
  ['-1', `${LONG}B2`],
  ['28', 'mon'],
  ['29', 'MONSTERA'],
  ['30', 'Monstera'],
  ['31', 'monstera deliciosa'],
  ['9007199254740993', 'monstera deliciosa'],
  ['32', 'Z'],
  ['35', 'É'],
  ['36', 'é'],
  ['37', '\uE000'],
  ['38', '\uFFFD'],
  ['39', '🌿'],
  ['40', '\u{10FFFF}'],
];
const byName = BY_NAME.map(([id]) => id);
const byId = byName.toSorted((a, b) => Number(a) - Number(b));

const app = TestApp.forAll();

beforeAll(async () => {
  const shuffled = BY_NAME.toSorted(([, a], [, b]) => a.length - b.length);
  for (const [id, name] of shuffled) {
    const { status } = await app.create(`{"id":${id},"name":${JSON.stringify(name)},"tag":"t"}`);
    expect([id, status]).toEqual([id, 200]);
  }
});

function listIds({ text }: Answer): string[] {
  return [...text.matchAll(/"id":(-?\d+)/g)].map(([, id = '']) => id);
}

/** Reads a page and all that follow by the Links. */
async function listByLinks(path: string): Promise<string[]> {
  const pages = await app.getPages(path);
  expect(pages.filter(({ status }) => status !== 200)).toEqual([]);
  return pages.flatMap(listIds);
}

const ORDERS = {
  id: byId,
  '-id': byId.toReversed(),
  name: byName,
  '-name': byName.toReversed(),
};

describe.each(Object.entries(ORDERS))('GET /plants?sort=%s', (sort, ids) => {
  it('has every plant once, on pages and as lines', async () => {
    expect(await listByLinks(`/plants?sort=${sort}&limit=7`)).toEqual(ids);
    const page = await app.get(`/plants?sort=${sort}&limit=1000`);
    expect(listIds(page)).toEqual(ids);
    const lines = await app.get(`/plants?sort=${sort}`, LINES);
    expect(`[${lines.text.split('\n').join().slice(0, -1)}]`).toBe(page.text);
  });
});

it('GET /plants?tag= compares tags exactly, and has a Link while there is more than 100', async () => {
  const lines = Array.from(
    { length: 101 },
    (_, id) => `{"id":${1000 + id},"name":"m","tag":"A é"}`,
  );
  const others = ['a é', 'A É', 'A é '].map((tag, id) => JSON.stringify({ id, name: 'm', tag }));
  const type = { 'Content-Type': 'application/x-ndjson' };
  await app.post('/plants/import', [...lines, ...others].join('\n'), type);
  const page = await app.get('/plants?tag=A+%C3%A9');
  expect(listIds(page)).toHaveLength(100);
  const next = '/plants?limit=100&after=1099&tag=A%20%C3%A9';
  expect(page.headers.get('link')).toBe(`<${next}>; rel="next"`);
  expect(listIds(await app.get(next))).toEqual(['1100']);
  const full = await app.get('/plants?tag=A%20%C3%A9&limit=101');
  expect(listIds(full)).toHaveLength(101);
  expect(full.headers.has('link')).toBe(false);
});

describe('GET /plants?name=', () => {
  it.each([
    ['mon', ['28', '29', '30', '31', '9007199254740993']],
    ['monstera deliciosa', ['31', '9007199254740993']],
    ['a', ['23', '24', '26', '25']],
    ['_', ['34']],
    ['é', ['36']],
    ['É', ['35']],
    ['🌿', ['39']],
    [LONG, ['-3', '-2', '-1']],
    [`${LONG.slice(1)}m`, []],
  ])('finds the plants whose name starts with %j', async (name, ids) => {
    const query = `name=${encodeURIComponent(name)}`;
    expect(listIds(await app.get(`/plants?${query}`, LINES))).toEqual(ids);
    expect(await listByLinks(`/plants?limit=1&${query}`)).toEqual(ids);
    expect(await listByLinks(`/plants?limit=1&sort=-name&${query}`)).toEqual(ids.toReversed());
  });

  it('creates and finds a name of nearly 100 KiB', async () => {
    const name = `Wide${'🌿'.repeat(25_000)}`;
    expect(await app.create(`{"id":77,"name":"${name}"}`)).toMatchObject({ status: 200 });
    const query = `name=${encodeURIComponent(name.slice(0, 4 + 2 * 60))}`;
    expect((await app.get(`/plants?${query}`)).body).toEqual([{ id: 77, name }]);
    expect(await app.delete('/plants/77')).toMatchObject({ status: 204 });
  });
});

describe('GET /plants with a query that no page has', () => {
  const cursor = async (query: string): Promise<string> => {
    const link = (await app.get(`/plants?limit=1&${query}`)).headers.get('link') ?? '';
    return /after=([^&>]+)/.exec(link)?.[1] ?? '';
  };
  const encoded = encodeURIComponent;

  it.each([
    ['name=a&tag=t', 'tag must not be given together with name or a sort by name'],
    ['tag=t&sort=name', 'tag must not be given together with name or a sort by name'],
    ['tag=t&sort=-name', 'tag must not be given together with name or a sort by name'],
    ['sort=name&after=x', 'after must be taken from the Link'],
    [`tag=${'é'.repeat(683)}`, 'tag must not be longer than 4096 bytes'],
    ['limit=1001', 'limit must not be greater than 1000'],
  ])('refuses %s with 40003: %s', async (query, fault) => {
    for (const headers of query === 'limit=1001' ? [{}] : [{}, LINES]) {
      const answer = await app.get(`/plants?${query}`, headers);
      expectError(answer, 'INVALID_PARAMETERS', expect.stringContaining(fault));
      expect(answer.headers.get('vary')).toBe('Accept');
    }
  });

  it('refuses the cursor of another order or another name', async () => {
    const cursors = [await cursor('sort=name'), await cursor('sort=-name'), await cursor('name=m')];
    const queries = ['sort=name', 'sort=-name', 'name=m'];
    for (const [place, after] of cursors.entries()) {
      for (const [other, query] of queries.entries()) {
        const { request, status } = await app.get(`/plants?${query}&after=${encoded(after)}`);
        expect([request, status]).toEqual([request, place === other ? 200 : 400]);
      }
    }
  });

  it('refuses a forged cursor whose id is none', async () => {
    const [signature] = JSON.parse(atob(await cursor('name=mon'))) as string[];
    const forged = Buffer.from(JSON.stringify([signature, 'mon', 'x'])).toString('base64url');
    const answer = await app.get(`/plants?name=mon&after=${forged}`);
    expectError(answer, 'INVALID_PARAMETERS', expect.stringContaining('taken from a Link'));
  });
});

describe('GET /plants as lines', () => {
  it.each([
    ['application/x-ndjson', true],
    ['application/X-NDJSON;q=0.1', true],
    ['application/json;q=0.5, application/x-ndjson;q=0.5', true],
    ['application/json, application/x-ndjson;q=0.9', false],
    ['application/x-ndjson;q=0', false],
    ['application/x-ndjson;q=0.1, */*;q=0.9', false],
    ['application/x-ndjson;q=0.5, */*;q=0.4', true],
    ['application/x-ndjson, */*', true],
    ['application/x-ndjson;q=0.5, Application/*;q=0.6, */*;q=0.1', false],
    ['*/*, application/*;q=0.4, application/x-ndjson;q=0.5', true],
    ['application/x-ndjson;q=0.5, application/json;q=0.1, */*', true],
    ['application/x-ndjson;q=0.5, application/json;q=0, */*', true],
    ['application/json;q=0.1, */*', false],
    ['*/*', false],
    ['', false],
  ])('is chosen by Accept: %s is %s', async (accept, isChosen) => {
    const answer = await app.get('/plants?limit=1', { Accept: accept });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(
      isChosen ? 'application/x-ndjson' : 'application/json; charset=utf-8',
    );
    expect(answer.headers.get('vary')).toBe('Accept');
    expect(answer.headers.has('link')).toBe(!isChosen);
    expect(answer.text.endsWith('\n')).toBe(isChosen);
  });

  it('is answered to a HEAD with the headers alone', async () => {
    const answer = await app.request('HEAD', '/plants', {
      headers: { ...app.authorization, ...LINES },
    });
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/x-ndjson',
      vary: 'Accept',
    });
  });
});

it('a list that the store cannot read is 503 without a Link', async () => {
  await app.query('ALTER TABLE plants RENAME TO elsewhere');
  const answers = [await app.get('/plants?limit=1'), await app.get('/plants?limit=1', LINES)];
  await app.query('ALTER TABLE elsewhere RENAME TO plants');
  for (const answer of answers) {
    expectError(answer, 'UNAVAILABLE');
    expect(answer.headers.get('link')).toBeNull();
  }
  expect((await app.get('/plants?limit=1')).headers.get('link')).toMatch(/rel="next"/);
});
