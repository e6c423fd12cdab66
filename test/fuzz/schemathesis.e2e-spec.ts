import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiDocument } from './api-document.js';
import { TestApp } from '../support/test-app.js';
import { type Expected, probeOf } from './expected.js';
import { Fuzzer } from './fuzzer.js';
import { ACCESS_TOKENS, GOOD_TOKENS, NEAR_PATHS, UNKNOWN_PATHS } from './headers.js';
import type { Answer } from './http-answer.js';
import { HttpClient } from './http-client.js';
import type { HttpRequest } from './http-request.js';
import { AUTHORIZATION, CONTENT_TYPE, createOf, requestOf } from './requests.js';
import { auditStore } from './store-audit.js';
import { words } from './words.js';

// The checks of Schemathesis that need requests of their own, and the faults that EvoMaster and
// RESTler look for. The checks of Schemathesis that need an answer only are made on every answer
// that the fuzzer gets: see checks.ts.

let app: TestApp;
let document: ApiDocument;
let client: HttpClient;
let fuzzer: Fuzzer;
let lastId = 0n;

beforeAll(async () => {
  app = await TestApp.start({ ACCESS_TOKENS });
  document = await ApiDocument.load(app.url);
  client = new HttpClient(app.url);
  fuzzer = new Fuzzer(document, 0, () => new HttpClient(app.url), 1);
});
afterAll(async () => {
  client.close();
  fuzzer.close();
  await app.close();
});

/** Sends a request and expects the answer to have no fault. */
async function expectAnswer(request: HttpRequest, expected: Expected): Promise<void> {
  const fault = await fuzzer.check({ request, expected });
  expect(fault?.faults).toBeUndefined();
}

async function expectError(request: HttpRequest, error: number): Promise<void> {
  await expectAnswer(request, { kind: 'error', error });
}

async function expectCreated(id: bigint, name = 'a'): Promise<void> {
  const { request, expected } = createOf({ id, name });
  await expectAnswer(request, expected);
}

/** Sends a request for a plant without a flaw. */
async function expectPlant(method: string, id: bigint): Promise<void> {
  const request = requestOf('{"name":"replaced"}', { method, target: `/plants/${id}` });
  const { expected } = probeOf(request, {
    path: { id },
    token: 'good',
    isJsonType: true,
    isIdentity: true,
    verdict: { kind: 'plant', plant: { id, name: 'replaced' } },
  });
  await expectAnswer(request, expected);
}

function plantText(members = ''): string {
  return `{"id":${++lastId},"name":"a"${members}}`;
}

describe('Schemathesis', () => {
  it('missing_required_header: 401 without Authorization, 415 without Content-Type', async () => {
    await expectError(requestOf(plantText(), { headers: [CONTENT_TYPE] }), 40100);
    await expectError(requestOf(plantText(), { headers: [AUTHORIZATION] }), 41500);
  });

  it('ignored_auth: what is accepted with a token is refused without, and with another', async () => {
    const { request } = createOf({ id: ++lastId, name: 'a' });
    await expectError({ ...request, headers: [CONTENT_TYPE] }, 40100);
    const other = ['Authorization', 'Bearer other'] as const;
    await expectError({ ...request, headers: [other, CONTENT_TYPE] }, 40101);
    await expectCreated(lastId);
  });

  it.each(words`PUT PATCH DELETE TRACE`)(
    'unsupported_method: %s is 405 with Allow, with a token and without',
    async (method) => {
      await expectError(requestOf('', { method, framing: 'none' }), 40500);
      await expectError(requestOf('', { method, framing: 'none', headers: [] }), 40500);
      await expectError(requestOf(plantText(), { method }), 40500);
    },
  );

  it.each(['/plants', '/plants/1'])(
    'allow_header_conformance: OPTIONS %s lists exactly the documented methods',
    async (target) => {
      const request = requestOf('', { method: 'OPTIONS', target, framing: 'none' });
      const allowed = (await client.send(request)).headers.get('allow')?.split(', ') ?? [];
      const named = allowed.filter((name) => name !== 'OPTIONS' && name !== 'HEAD');
      expect(named).toEqual(document.methods(target));
    },
  );

  it('use_after_free: a plant that was removed is not there in any way', async () => {
    const id = ++lastId;
    await expectCreated(id);
    await expectPlant('DELETE', id);
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE']) await expectPlant(method, id);
    await expectCreated(id, 'another');
    await expectPlant('GET', id);
  });

  it('ensure_resource_availability: a plant that was created is there in every way', async () => {
    const id = ++lastId;
    await expectCreated(id);
    for (const method of ['GET', 'HEAD', 'PUT', 'GET', 'DELETE']) await expectPlant(method, id);
  });

  it('coverage: only what is required, each optional, each missing, each of a wrong type', async () => {
    const texts = words`null true 0 1.5 "" "a" [] {} [1] {"a":1}`;
    await expectCreated(++lastId);
    await expectAnswer(requestOf(`{"id":${++lastId},"name":"a","tag":"b"}`), {
      kind: 'create',
      plant: { id: lastId, name: 'a', tag: 'b' },
    });
    for (const text of ['{}', '{"id":1}', '{"name":"a"}', '{"tag":"a"}', ...texts.slice(0, 4)]) {
      await expectError(requestOf(text), 40002);
    }
    for (const text of texts) {
      const isText = text.startsWith('"');
      if (text !== '0') await expectError(requestOf(`{"id":${text},"name":"a"}`), 40002);
      if (isText) continue;
      await expectError(requestOf(`{"id":1,"name":${text}}`), 40002);
      await expectError(requestOf(`{"id":1,"name":"a","tag":${text}}`), 40002);
    }
  });
});

describe('EvoMaster and RESTler', () => {
  const refused: [string, (id: bigint) => HttpRequest, number][] = [
    ['without a token', (id) => requestOf(idText(id), { headers: [CONTENT_TYPE] }), 40100],
    ['of another media type', (id) => requestOf(idText(id), { headers: [AUTHORIZATION] }), 41500],
    ['too large', (id) => requestOf(idText(id) + ' '.repeat(102_400)), 41300],
    ['not JSON', (id) => requestOf(`${idText(id)},`), 40001],
    ['with a tag that is no text', (id) => requestOf(`{"id":${id},"name":"a","tag":1}`), 40002],
    ['with another method', (id) => requestOf(idText(id), { method: 'PUT' }), 40500],
    ['on the path of a plant', (id) => requestOf(idText(id), { target: `/plants/${id}` }), 40500],
    ['on another path', (id) => requestOf(idText(id), { target: `/plant/${id}` }), 40400],
    ['by a PUT', (id) => requestOf(idText(id), { method: 'PUT', target: `/plants/${id}` }), 40401],
  ];

  function idText(id: bigint): string {
    return `{"id":${id},"name":"refused"}`;
  }

  it.each(refused)('104, LeakageRule: a create %s leaves its id free', async (_, make, error) => {
    const id = ++lastId;
    await expectError(make(id), error);
    await expectCreated(id);
  });

  it('102: no answer of 2xx to wrong data', async () => {
    await expectError(requestOf('{"id":"1","name":"a"}'), 40002);
    await expectError(requestOf('{"id":1,"name":null}'), 40002);
  });

  it('104: a conflict leaves the plant as it was', async () => {
    const id = ++lastId;
    await expectCreated(id, 'first');
    await expectCreated(id, 'second');
    // The model knows that only the first is there: this one is the very same plant.
    await expectCreated(id, 'first');
    expect(fuzzer.seen.get('409 40900')).toBeGreaterThan(0);
    expect(fuzzer.seen.get('409 40901')).toBeGreaterThan(0);
  });

  it('203: members that are not of a NewPlant are neither stored nor answered', async () => {
    const members = ',"Tag":"b","rowid":1,"__proto__":{"tag":"b"},"constructor":{"name":"b"}';
    await expectAnswer(requestOf(plantText(members)), {
      kind: 'create',
      plant: { id: lastId, name: 'a' },
    });
    await expectError(requestOf(`{"id":${lastId},"name":"a"}`), 40901);
  });

  it('204: without a token nobody learns whether an id is in use', async () => {
    const taken = ++lastId;
    await expectCreated(taken);
    const ask = (id: bigint, field: readonly [string, string]): Promise<Answer> =>
      client.send(requestOf(`{"id":${id},"name":"a"}`, { headers: [CONTENT_TYPE, field] }));
    for (const field of [['X-None', ''] as const, ['Authorization', 'Bearer other'] as const]) {
      const [known, unknown] = [await ask(taken, field), await ask(taken + 1_000n, field)];
      expect(known.status).toBe(unknown.status);
      expect(known.body.toString()).toBe(unknown.body.toString());
      expect([...known.headers.keys()]).toEqual([...unknown.headers.keys()]);
    }
  });

  it.each(GOOD_TOKENS)('205: the token %s is accepted', async (token) => {
    const { request, expected } = createOf({ id: ++lastId, name: 'a' });
    const headers = [CONTENT_TYPE, ['Authorization', `Bearer ${token}`] as const];
    await expectAnswer({ ...request, headers }, expected);
  });

  it.each(ACCESS_TOKENS.split(/, ?/).slice(1))(
    '207, 208: the entry "%s" of the configuration is no token',
    async (entry) => {
      const headers = [CONTENT_TYPE, ['Authorization', `Bearer ${entry}`] as const];
      await expectError(requestOf(plantText(), { headers }), entry === '' ? 40100 : 40101);
    },
  );

  it('210: there is nothing that is not documented', async () => {
    for (const target of [...NEAR_PATHS, ...UNKNOWN_PATHS]) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const request = requestOf('', { target, method, framing: 'none' });
        const { expected } = probeOf(request, {
          path: 'unknown',
          token: 'good',
          isJsonType: true,
          isIdentity: true,
          verdict: { kind: 'unreadable' },
        });
        await expectAnswer(request, expected);
      }
    }
  });

  it('100, 101, 209: no failure of the server, no wrong shape, nothing of its inside', async () => {
    expect([...fuzzer.seen.keys()].filter((answer) => answer.startsWith('5'))).toEqual([]);
    expect(await auditStore(app.storeUrl, fuzzer.model)).toEqual([]);
  });
});
