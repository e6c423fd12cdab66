import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { Api } from './api.js';
import { fuzzPlants } from './fuzz.js';
import { AUTHORIZATION } from './headers.js';
import { fuzzOperations } from './operations.js';
import { type Answer, Client, type Request, type Send } from './request.js';

// A fuzzer that finds no faults proves something only if it finds those that exist. Here, requests
// or answers are changed on their way in one way at a time, which must be found.

const OPTIONS = { seed: 7, runs: 40, endOnFailure: true };

let app: TestApp;
let client: Client;
let document: ApiDocument;

beforeAll(async () => {
  app = await TestApp.start({ CHANGE_FEED: 'on' });
  client = new Client(app.url);
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

function inAnswer(change: (answer: Answer, request: Request) => Answer): Plant {
  return (send) => async (request) => change(await send(request), request);
}

function withField(answer: Answer, name: string, value: string | undefined): Answer {
  return { ...answer, headers: { ...answer.headers, [name]: value } };
}

function instead(status: number, other: number): Plant {
  return inAnswer((answer) => (answer.status === status ? { ...answer, status: other } : answer));
}

/** Loses the fifth plant that was created. */
function forgetRow(send: Send): Send {
  let created = 0;
  return async (request) => {
    const answer = await send(request);
    const [, id] = /"id":(-?\d+)[,}]/.exec(request.body?.toString() ?? '') ?? [];
    const isCreated = request.target === '/plants' && answer.status === 200 && id !== undefined;
    if (isCreated && ++created === 5) {
      await send({ method: 'DELETE', target: `/plants/${id}`, fields: [AUTHORIZATION] });
    }
    return answer;
  };
}

/** Answers each read with the answer to the same read before. */
function readStale(send: Send): Send {
  const former = new Map<string, Answer>();
  return async (request) => {
    if (request.method !== 'GET' || request.fields.length > 1) return await send(request);
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
    const fields = request.fields.filter(([name]) => name !== 'If-Match');
    if (answer.status === 412 && request.method === 'DELETE') await send({ ...request, fields });
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
  ['a bug', /a bug of the service/, instead(412, 500)],
  [
    'a leak of the inside',
    /the answer shows internals/,
    inAnswer((answer) => ({
      ...answer,
      body: answer.body.replace('"message":"', '"message":"at Object.run (/srv/main.js:1:2) '),
    })),
  ],
  [
    'a leak of the token',
    /the answer shows the token/,
    inAnswer((answer, { fields }) => withField(answer, 'x-debug', fields.join())),
  ],
  ['a missing member', /against the schema/, inBody(/^\{"name":/, () => '{}')],
  [
    'a member too many',
    /against the schema/,
    inBody(/^\{"name":/, (text) => text.replace('{', '{"owner":1,')),
  ],
  [
    'a lost tag',
    /the body is not/,
    inBody(/^\{"name":/, (text) => text.replace(/,"tag":".*"/, '')),
  ],
  [
    'a wrong ETag',
    /the ETag|the status/,
    inAnswer((answer) => withField(answer, 'etag', answer.headers.etag && '"a"')),
  ],
  [
    'an unordered page',
    /not these plants/,
    inBody(/^\[\{/, (text) => text.replace(/^\[(\{[^{}]*\}),(\{[^{}]*\})/, '[$2,$1')),
  ],
  [
    'a page that ends too early',
    /not these plants/,
    inAnswer((answer) => withField(answer, 'link', undefined)),
  ],
  [
    'a lost X-Request-Id',
    /X-Request-Id is not that/,
    inAnswer((answer) => withField(answer, 'x-request-id', 'other')),
  ],
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
    (send) => (request) => send({ ...request, fields: [...request.fields, AUTHORIZATION] }),
  ],
])('%s of any operation is found', async (_, found, plant) => {
  const api = new Api(plant(client.send), document);
  await expect(fuzzOperations(api, OPTIONS)).rejects.toThrow(found);
});
