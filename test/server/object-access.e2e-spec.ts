import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectError } from '../support/expect-error.js';
import { type Answer, TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

// Access to plants and to their members: API1 and API3 of the OWASP API Security Top 10.

const READ_TOKEN = 'may-only-read';
const PLANT = '{"id":1,"name":"Monstera","tag":"indoor"}';
const ONLY_READ = expect.stringContaining('may only read');
const STORED = { id: '1', name: 'Monstera', tag: 'indoor' };

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({ READ_ACCESS_TOKENS: READ_TOKEN });
});
afterAll(() => app.close());

beforeEach(async () => {
  for (const { id } of await app.rows()) await app.delete(`/plants/${id}`);
  await app.create(PLANT);
});

const REQUESTS: readonly (readonly [method: string, path: string, body: string | undefined])[] = [
  ['GET', '/plants/1', undefined],
  ['HEAD', '/plants/1', undefined],
  ['GET', '/plants', undefined],
  ['HEAD', '/plants', undefined],
  ['POST', '/plants', '{"id":2,"name":"Ficus"}'],
  ['PUT', '/plants/1', '{"name":"Ficus"}'],
  ['PATCH', '/plants/1', '{"tag":"x"}'],
  ['POST', '/plants/import', '{"id":2,"name":"Ficus"}'],
  ['DELETE', '/plants/1', undefined],
];
const READS = REQUESTS.filter(([method]) => method === 'GET' || method === 'HEAD');
const WRITES = REQUESTS.filter(([method]) => method !== 'GET' && method !== 'HEAD');

async function ask(method: string, path: string, body?: string, token?: string): Promise<Answer> {
  const headers = {
    'Content-Type': 'application/json',
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  };
  return await app.request(method, path, body === undefined ? { headers } : { headers, body });
}

describe('API1: a token that may only read', () => {
  it.each(READS)('%s %s is answered', async (method, path) => {
    expect(await ask(method, path, undefined, READ_TOKEN)).toMatchObject({ status: 200 });
  });

  it.each(WRITES)('%s %s gets 40300 and changes nothing', async (method, path, body) => {
    expectError(await ask(method, path, body, READ_TOKEN), 'INSUFFICIENT_SCOPE', ONLY_READ);
    expect(await app.rows()).toEqual([STORED]);
  });

  it('gets 40300 whether the plant is there or not', async () => {
    for (const method of ['PUT', 'DELETE']) {
      const [known, unknown] = [
        await ask(method, '/plants/1', undefined, READ_TOKEN),
        await ask(method, '/plants/2', undefined, READ_TOKEN),
      ];
      expect(known.text).toBe(unknown.text);
      expectError(known, 'INSUFFICIENT_SCOPE', ONLY_READ);
    }
  });
});

describe('API1: without a good token', () => {
  it.each(REQUESTS)('%s %s gets 401 and changes nothing', async (method, path, body) => {
    for (const token of [undefined, 'other', `${READ_TOKEN},${TOKEN}`]) {
      expect(await ask(method, path, body, token)).toMatchObject({ status: 401 });
    }
    expect(await app.rows()).toEqual([STORED]);
  });

  it.each(['GET', 'HEAD', 'PUT', 'DELETE'])(
    '%s does not say whether a plant is there',
    async (method) => {
      for (const token of [undefined, 'other']) {
        const known = await ask(method, '/plants/1', undefined, token);
        const unknown = await ask(method, '/plants/2', undefined, token);
        expect([known.status, known.text]).toEqual([unknown.status, unknown.text]);
        expect([...known.headers.keys()]).toEqual([...unknown.headers.keys()]);
      }
    },
  );
});

describe('API3', () => {
  const EXTRAS = '"id":2,"Tag":"x","rowid":3,"etag":"x","__proto__":{"tag":"x"},"owner":{"id":4}';

  it('members that a PUT does not know, as the id, are neither stored nor answered', async () => {
    const answer = await app.put('/plants/1', `{"name":"Ficus",${EXTRAS}}`);
    expect(answer).toMatchObject({ status: 200, text: '{"name":"Ficus"}' });
    expect(await app.rows()).toEqual([{ id: '1', name: 'Ficus', tag: null }]);
  });

  it('members that are read are id, name and tag, alone and on a page', async () => {
    await app.put('/plants/1', `{"name":"Ficus","tag":"a",${EXTRAS}}`);
    expect((await app.get('/plants/1')).text).toBe('{"id":1,"name":"Ficus","tag":"a"}');
    expect((await app.get('/plants')).text).toBe('[{"id":1,"name":"Ficus","tag":"a"}]');
  });

  it('members cannot be chosen by a query', async () => {
    for (const query of ['fields=rowid', 'select=*', 'include=owner', 'id=1']) {
      expectError(
        await app.get(`/plants?${query}`),
        'INVALID_PARAMETERS',
        expect.stringMatching(/is not a parameter/),
      );
    }
  });

  it('members that a PATCH does not know, as the id, are neither stored nor answered', async () => {
    const answer = await app.patch('/plants/1', `{"tag":"x",${EXTRAS}}`);
    expect(answer).toMatchObject({ status: 200, text: '{"name":"Monstera","tag":"x"}' });
    expect(await app.rows()).toEqual([{ ...STORED, tag: 'x' }]);
  });
});
