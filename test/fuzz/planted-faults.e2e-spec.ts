import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { makeEmptyRequest } from '../support/plant-requests.js';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { Api } from './api.js';
import { fuzzPlants } from './fuzz.js';
import { AUTHORIZATION } from './headers.js';
import { fuzzOperations } from './operations.js';
import type { HttpAnswer } from '../support/http/answer.js';
import { ClientPool } from '../support/http/client-pool.js';
import type { HttpRequest } from '../support/http/request.js';
import type { Send } from './api.js';

// A fuzzer that finds no faults proves something only if it finds those that exist. Here, requests
// or answers are changed on their way in one way at a time, which must be found.

const OPTIONS = { seed: 7, runs: 40, endOnFailure: true };

let app: TestApp;
let client: ClientPool;
let document: ApiDocument;

beforeAll(async () => {
  app = await TestApp.start({ CHANGE_FEED: 'on' });
  client = new ClientPool(() => app.url);
  document = await ApiDocument.load(app.url);
});
afterAll(async () => {
  client.close();
  await app.close();
});

/** Makes a way to send requests that misbehaves. */
type Plant = (send: Send) => Send;

/** Changes the body of some answers that succeed. */
function inBody(pattern: RegExp, change: (body: string) => string): Plant {
  return (send) => async (request) => {
    const answer = await send(request);
    const isChanged = answer.status === 200 && pattern.test(answer.body);
    return isChanged ? { ...answer, body: change(answer.body) } : answer;
  };
}

function inAnswer(change: (answer: HttpAnswer, request: HttpRequest) => HttpAnswer): Plant {
  return (send) => async (request) => change(await send(request), request);
}

/** Changes a header that an answer has. */
function inHeader(name: string, change: (value: string) => string): Plant {
  return inAnswer((answer) => {
    const { [name]: value, ...others } = answer.headers;
    if (value === undefined) return answer;
    return { ...answer, headers: { ...others, [name]: change(value) } };
  });
}

function instead(status: number, other: number): Plant {
  return inAnswer((answer) => (answer.status === status ? { ...answer, status: other } : answer));
}

/** Loses the fifth plant that was created. */
function forgetRow(send: Send): Send {
  let created = 0;
  return async (request) => {
    const answer = await send(request);
    const [, id] = /"id":(-?\d+)[,}]/.exec(request.body.toString()) ?? [];
    const isCreated = request.target === '/plants' && answer.status === 200 && id !== undefined;
    if (isCreated && ++created === 5) {
      await send(makeEmptyRequest('DELETE', `/plants/${id}`));
    }
    return answer;
  };
}

/** Answers each read with the answer to the same read before. */
function readStale(send: Send): Send {
  const former = new Map<string, HttpAnswer>();
  return async (request) => {
    if (request.method !== 'GET' || request.headers.length > 1) return await send(request);
    const stale = former.get(request.target);
    const answer = await send(request);
    former.set(request.target, answer);
    return stale ?? answer;
  };
}

/** Carries a refused change out all the same. */
function changeAlthoughRefused(send: Send): Send {
  return async (request) => {
    const answer = await send(request);
    const headers = request.headers.filter(([name]) => name !== 'If-Match');
    if (answer.status === 412 && request.method === 'DELETE') await send({ ...request, headers });
    return answer;
  };
}

const FAULTS: readonly (readonly [name: string, found: RegExp, plant: Plant])[] = [
  [
    'a rounded id',
    /not these plants/,
    inBody(/"id":/, (text) => text.replace(/\d(?=,"name")/, '0')),
  ],
  ['a forgotten row', /the status is|the error is|not these plants|not \{|was wanted/, forgetRow],
  ['a stale read', /not these plants|the status is|the ETag/, readStale],
  [
    'a change that was refused',
    /the status is|not these plants|not \{|was wanted/,
    changeAlthoughRefused,
  ],
  [
    'a wrong code',
    /the error is 40900 and not 40901|40901 was wanted/,
    inAnswer((answer) => ({
      ...answer,
      body: answer.body.replace('{"error":40901', '{"error":40900'),
    })),
  ],
  ['an undocumented status', /the status is not documented/, instead(409, 422)],
  [
    'a leak of the inside',
    /the answer shows internals/,
    inAnswer((answer) => ({
      ...answer,
      body: answer.body.replace('"message":"', '"message":"at Object.run (/srv/main.js:1:2) '),
    })),
  ],
  ['a missing member', /against the schema/, inBody(/^\{"name":/, () => '{}')],
  [
    'a lost tag',
    /the body is not/,
    inBody(/^\{"name":/, (text) => text.replace(/,"tag":".*"/, '')),
  ],
  ['a wrong ETag', /the ETag|the status/, inHeader('etag', () => '"a"')],
  [
    'an unordered page',
    /not these plants/,
    inBody(/^\[\{/, (text) => text.replace(/^\[(\{[^{}]*\}),(\{[^{}]*\})/, '[$2,$1')),
  ],
  ['a page that ends too early', /not these plants/, inHeader('link', () => '')],
  ['a lost X-Request-Id', /X-Request-Id is not that/, inHeader('x-request-id', () => 'other')],
];

it.each(FAULTS)('%s is found', async (_, found, plant) => {
  const api = new Api(plant(client.send), document);
  await expect(fuzzPlants(api, client.send, OPTIONS)).rejects.toThrow(found);
});

it.each<readonly [string, RegExp, Plant]>([
  ['an undocumented status', /the status is not documented/, instead(404, 418)],
  ['a missing member', /against the schema/, inBody(/^\{"name":/, () => '{}')],
  [
    'a request without a token that is answered',
    /a request without a good token is not refused/,
    (send) => (request) => send({ ...request, headers: [...request.headers, AUTHORIZATION] }),
  ],
])('%s of any operation is found', async (_, found, plant) => {
  const api = new Api(plant(client.send), document);
  await expect(fuzzOperations(api, OPTIONS)).rejects.toThrow(found);
});
