import { beforeAll, describe, expect, it } from '@jest/globals';
import { expectError } from '../support/expect-error.js';
import { type Answer, TestApp } from '../support/test-app.js';

const app = TestApp.forAll();
let lastId = 100;

/** Creates a plant of its own, and resolves with its path. */
async function newPlant(members = '"name":"n"'): Promise<string> {
  const id = ++lastId;
  expect(await app.create(`{"id":${id},${members}}`)).toMatchObject({ status: 200 });
  return `/plants/${id}`;
}

async function readEtag(path: string): Promise<string> {
  return (await app.get(path)).headers.get('etag') ?? '';
}

/** The ids as they are written in a page. */
function listIds({ text }: Answer): string[] {
  return [...text.matchAll(/[[{,]"id":(-?\d+)/g)].map(([, id = '']) => id);
}

it('the ETag of a plant is the same on every engine and in every release, so that copies stay valid', async () => {
  expect(await readEtag(await newPlant('"name":"a"'))).toBe('"rrsEdMV2lbhUpw2K_KCk3s"');
});

describe('GET /plants', () => {
  const list = async (query: string): Promise<string[]> =>
    listIds(await app.get(`/plants?${query}`));

  beforeAll(async () => {
    for (let id = 10; id < 20; id++) {
      await app.create(`{"id":${id},"name":"p","tag":"${id % 2 === 0 ? 'even tag' : 'odd&é'}"}`);
    }
    await app.create('{"id":-1,"name":"n"}');
  });

  it('has a Link to the next page while there is more, and only then', async () => {
    const pages = await app.getPages('/plants?limit=4&after=9&tag=even+tag');
    expect(pages.map(listIds)).toEqual([['10', '12', '14', '16'], ['18']]);
    expect(pages[0]?.headers.get('link')).toMatch(
      /^<\/plants\?limit=4&after=16&tag=even%20tag>; rel="next"$/,
    );
    const full = await app.get('/plants?limit=5&tag=even%20tag');
    expect(listIds(full)).toHaveLength(5);
    expect(full.headers.has('link')).toBe(false);
  });

  it('lists 100 plants unless the query has another limit', async () => {
    await Promise.all(Array.from({ length: 101 }, () => newPlant('"name":"m","tag":"many"')));
    const answer = await app.get('/plants?tag=many');
    expect(listIds(answer)).toHaveLength(100);
    expect(answer.headers.get('link')).toMatch(/limit=100&after=\d+&tag=many>; rel="next"$/);
    expect(await list('tag=many&limit=1000')).toHaveLength(101);
  });

  it('compares tags exactly', async () => {
    for (const tag of ['Case', '  ', '']) {
      await newPlant(JSON.stringify({ name: 'n', tag }).slice(1, -1));
      const query = `tag=${encodeURIComponent(tag)}`;
      expect(await list(query)).toEqual([String(lastId)]);
    }
    expect(await list('tag=odd%26%C3%A9')).toEqual(['11', '13', '15', '17', '19']);
    for (const tag of ['case', 'Case%20', '%20', 'nothing'])
      expect(await list(`tag=${tag}`)).toEqual([]);
  });
});

describe('PATCH /plants/{id}', () => {
  it.each(['application/json-patch+json', 'text/plain', ''])(
    'names its media types in Accept-Patch when it gets "%s"',
    async (type) => {
      const answer = await app.patch(await newPlant(), '{"name":"m"}', { 'Content-Type': type });
      expectError(answer, 'UNSUPPORTED_MEDIA_TYPE', expect.stringContaining(`"${type}"`));
      expect(answer.headers.get('accept-patch')).toBe(
        'application/merge-patch+json, application/json',
      );
    },
  );

  it('keeps concurrent changes of different members', async () => {
    const path = await newPlant('"name":"n","tag":"t"');
    for (let round = 0; round < 5; round++) {
      const name = `name ${round}`;
      const tag = `tag ${round}`;
      await Promise.all([
        app.patch(path, JSON.stringify({ name })),
        app.patch(path, JSON.stringify({ tag })),
      ]);
      expect((await app.get(path)).body).toMatchObject({ name, tag });
    }
  });
});

const CHANGES = {
  PUT: (path: string, headers: Record<string, string>) => app.put(path, '{"name":"m"}', headers),
  PATCH: (path: string, headers: Record<string, string>) =>
    app.patch(path, '{"name":"m"}', headers),
  DELETE: (path: string, headers: Record<string, string>) => app.delete(path, headers),
};

describe.each(Object.entries(CHANGES))('%s /plants/{id} with a condition', (method, change) => {
  const success = method === 'DELETE' ? 204 : 200;

  it('lets one of many with the same ETag succeed', async () => {
    const path = await newPlant();
    const headers = { 'If-Match': await readEtag(path) };
    const answers = await Promise.all(Array.from({ length: 8 }, () => change(path, headers)));
    const failure = method === 'DELETE' ? 404 : 412;
    const statuses = answers.map(({ status }) => (status === 412 ? failure : status));
    expect(statuses.sort()).toEqual([success, ...Array<number>(7).fill(failure)].sort());
  });
});
