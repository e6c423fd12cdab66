import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectError } from '../support/expect-error.js';
import { type Answer, TestApp } from '../support/test-app.js';

let app: TestApp;
let lastId = 100;

beforeAll(async () => {
  app = await TestApp.start();
});

afterAll(() => app.close());

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

const MEMBERS = [
  '"name":"Monstera","tag":"indoor"',
  '"name":"Monstera"',
  '"name":"","tag":""',
  String.raw`"name":"\"\\\b\f\n\r\t\u0001\u001f/ \u007f'","tag":"\u2028\u2029"`,
  '"name":"🌿 é Ünï 日本","tag":"null"',
  `"name":"${'x'.repeat(40_000)}","tag":"${'y'.repeat(50_000)}"`,
];
const IDS = ['0', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'];

describe('GET /plants/{id}', () => {
  it.each(IDS)('answers the id %s with all its digits', async (id) => {
    await app.create(`{"id":${id},"name":"n"}`);
    const answer = await app.get(`/plants/${id}`);
    expect(answer).toMatchObject({ status: 200, text: `{"id":${id},"name":"n"}` });
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('has a strong ETag, the same for the same name and tag, and another for others', async () => {
    const [a, b, c, d] = await Promise.all(
      ['"name":"a"', '"name":"a"', '"name":"a","tag":""', '"name":"a","tag":"null"'].map(
        async (members) => readEtag(await newPlant(members)),
      ),
    );
    expect(a).toMatch(/^"[\w-]{22}"$/);
    expect(b).toBe(a);
    expect(new Set([a, c, d]).size).toBe(3);
    // The ETag is the same on every engine and in every release, so that copies of clients stay
    // valid.
    expect(a).toBe('"rrsEdMV2lbhUpw2K_KCk3s"');
  });
});

describe('GET /plants', () => {
  const list = async (query: string): Promise<string[]> =>
    listIds(await app.get(`/plants?${query}`));

  beforeAll(async () => {
    for (let id = 10; id < 20; id++) {
      await app.create(`{"id":${id},"name":"p","tag":"${id % 2 === 0 ? 'even tag' : 'odd&é'}"}`);
    }
    for (const id of IDS) await app.create(`{"id":${id},"name":"n"}`);
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
    await newPlant('"name":"n","tag":"Case"');
    const blank = await newPlant('"name":"n","tag":"  "');
    expect(await list('tag=odd%26%C3%A9')).toEqual(['11', '13', '15', '17', '19']);
    expect(await list('tag=case')).toEqual([]);
    expect(await list('tag=Case%20')).toEqual([]);
    expect(await list('tag=%20%20')).toEqual([blank.slice(8)]);
    const empty = await newPlant('"name":"n","tag":""');
    expect(await list('tag=')).toContain(empty.slice(8));
    expect(await list('tag=')).not.toContain('0');
    const answer = await app.get('/plants?tag=nothing');
    expect(answer).toMatchObject({ status: 200, text: '[]' });
    expect(answer.headers.has('link')).toBe(false);
  });

  it('ends a page before its JSON exceeds 1 MiB, and links to the rest', async () => {
    const paths: string[] = [];
    while (paths.length < 21) {
      paths.push(await newPlant(`"name":"${'x'.repeat(100_000)}","tag":"long"`));
    }
    const pages = await app.getPages('/plants?tag=long&limit=1000');
    expect(pages.map(({ text }) => text.length < 1_048_576)).toEqual([true, true, true]);
    const ids = paths.map((path) => path.slice('/plants/'.length));
    expect(pages.flatMap((page) => listIds(page))).toEqual(ids);
  });
});

it.each(MEMBERS)(
  'PUT /plants/{id} replaces a plant, and answers with it: %.60s',
  async (members) => {
    const path = await newPlant('"name":"before","tag":"before"');
    // A client may send it again, and other members are ignored.
    for (const others of ['', '"id":1,"etag":"x","__proto__":{"tag":"t"},']) {
      const answer = await app.put(path, `{${others}${members}}`);
      expect(answer).toMatchObject({ status: 200, body: JSON.parse(`{${members}}`) as object });
    }
    expect((await app.get(path)).body).toEqual({
      id: Number(path.slice(8)),
      ...JSON.parse(`{${members}}`),
    });
  },
);

describe('PATCH /plants/{id}', () => {
  it.each([
    ['{"name":"m"}', '"name":"m","tag":"t"'],
    ['{"tag":"🌿"}', '"name":"n","tag":"🌿"'],
    ['{"tag":""}', '"name":"n","tag":""'],
    ['{"tag":null}', '"name":"n"'],
    ['{"name":"m","tag":null}', '"name":"m"'],
    ['{}', '"name":"n","tag":"t"'],
    ['{"id":null,"extra":{"a":null}}', '"name":"n","tag":"t"'],
  ])('changes the members of %s, and answers with the plant', async (patch, members) => {
    const path = await newPlant('"name":"n","tag":"t"');
    const answer = await app.patch(path, patch);
    expect(answer).toMatchObject({ status: 200, text: `{${members}}` });
    expect(answer.headers.get('etag')).toBeNull();
    expect((await app.get(path)).text).toBe(`{"id":${path.slice(8)},${members}}`);
    expect(await app.patch(path, patch)).toMatchObject({ status: 200, text: `{${members}}` });
  });

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
