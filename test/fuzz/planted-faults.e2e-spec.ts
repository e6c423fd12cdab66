import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { HttpAnswer } from '../support/http/answer.js';
import { HttpClient } from '../support/http/request.js';
import { AUTHORIZATION, makeEmptyRequest } from '../support/plant-requests.js';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { Api, type Send } from './api.js';
import { fuzzPlants } from './fuzz.js';
import { fuzzOperations } from './operations.js';

// A fuzzer that finds no faults proves something only if it finds those that exist. Here, requests
// or answers are changed on their way in one way at a time, which must be found.

const OPTIONS = { seed: 7, numRuns: 40, endOnFailure: true };

const app = TestApp.forAll({ CHANGE_FEED: 'on' });
const client = new HttpClient(() => app.url);
let document: ApiDocument;

beforeAll(async () => {
  document = await ApiDocument.load(app.url);
});
afterAll(() => client.close());

/** Makes a way to send requests that misbehaves. */
type Plant = (send: Send) => Send;

function inAnswer(change: (answer: HttpAnswer) => HttpAnswer): Plant {
  return (send) => async (request) => change(await send(request));
}

/** Replaces a part of the bodies with this status. */
function inBody(status: number, pattern: RegExp | string, by: string): Plant {
  return inAnswer((answer) =>
    answer.status === status ? { ...answer, body: answer.body.replace(pattern, by) } : answer,
  );
}

/** Replaces a header that an answer has. */
function inHeader(name: string, value: string): Plant {
  return inAnswer((answer) =>
    name in answer.headers ? { ...answer, headers: { ...answer.headers, [name]: value } } : answer,
  );
}

function instead(status: number, other: number): Plant {
  return inAnswer((answer) => (answer.status === status ? { ...answer, status: other } : answer));
}

/** Drops a parameter of the query. */
function withoutParameter(name: string): Plant {
  const pattern = new RegExp(`(?<=[?&])${name}=[^&]*`);
  return (send) => (request) => send({ ...request, target: request.target.replace(pattern, '') });
}

/** Loses the fifth plant that was created. */
function forgetRow(send: Send): Send {
  let created = 0;
  return async (request) => {
    const answer = await send(request);
    const [, id] = /"id":(-?\d+)[,}]/.exec(request.body.toString()) ?? [];
    const isCreated = request.target === '/plants' && answer.status === 200 && id !== undefined;
    if (isCreated && ++created === 5) await send(makeEmptyRequest('DELETE', `/plants/${id}`));
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

/** The store differs from the model, whichever request finds it. */
const DIFFERENCE = /the status is|the error is|the ETag|not these plants|not \{/;

const FAULTS: readonly (readonly [name: string, found: RegExp, plant: Plant])[] = [
  ['a rounded id', /not these plants/, inBody(200, /(?<="id":.*)\d(?=,"name")/, '0')],
  ['a forgotten row', DIFFERENCE, forgetRow],
  ['a stale read', DIFFERENCE, readStale],
  ['a change that was refused', DIFFERENCE, changeAlthoughRefused],
  ['a wrong code', DIFFERENCE, inBody(409, '40901', '40900')],
  ['an undocumented status', /the status is not documented/, instead(409, 422)],
  ['a leak of the inside', /shows internals/, inBody(409, '":"', '":"at run (/srv/main.js:1:2) ')],
  ['a missing member', /against the schema/, inBody(200, /^\{"name":.*/, '{}')],
  ['a lost tag', /the body is not/, inBody(200, /(?<=^\{"name":.*),"tag":".*"/, '')],
  ['a wrong ETag', /the ETag|the status/, inHeader('etag', '"a"')],
  ['an unordered page', /not these plants/, inBody(200, /^\[(\{[^{}]*\}),(\{[^{}]*\})/, '[$2,$1')],
  ['a filter by name that finds all', /not these plants/, withoutParameter('name')],
  ['a filter by tag that finds all', /not these plants/, withoutParameter('tag')],
  ['a page that ends too early', /not these plants/, inHeader('link', '')],
  ['a lost X-Request-Id', /X-Request-Id is not that/, inHeader('x-request-id', 'other')],
];

it.each(FAULTS)('%s is found', async (_, found, plant) => {
  const api = new Api(plant(client.send), document);
  await expect(fuzzPlants(api, client.send, OPTIONS)).rejects.toThrow(found);
});

it.each<readonly [string, RegExp, Plant]>([
  ['an undocumented status', /the status is not documented/, instead(404, 418)],
  ['a missing member', /against the schema/, inBody(200, /^\{"name":.*/, '{}')],
  [
    'a request without a token that is answered',
    /a request without a good token is not refused/,
    (send) => (request) => send({ ...request, headers: [...request.headers, AUTHORIZATION] }),
  ],
])('%s of any operation is found', async (_, found, plant) => {
  const api = new Api(plant(client.send), document);
  await expect(fuzzOperations(api, { ...OPTIONS, numRuns: 400 })).rejects.toThrow(found);
});
