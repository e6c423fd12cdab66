import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { EXAMPLE_MODULES, EXAMPLE_SCHEMA } from '../example/example.js';
import { addToSchema } from '../support/store.js';
import { HttpClient } from '../support/http/request.js';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { Api } from './api.js';
import { fuzzPlants, sendRows } from './fuzz.js';
import { fuzzOperations } from './operations.js';

addToSchema(EXAMPLE_SCHEMA);

/** Fixed, so that the suite is the same every time; `npm run prove -- fuzz` takes others. */
const SEED = 20_261_121;

const app = TestApp.forAll({ CHANGE_FEED: 'on' }, ...EXAMPLE_MODULES);
const client = new HttpClient(() => app.url);
let api: Api;

beforeAll(async () => {
  api = new Api(client.send, await ApiDocument.load(app.url));
});
afterAll(() => client.close());

it('each flaw of a request has its error, and each harmless difference none', async () => {
  await sendRows(api, client.send, SEED);
});

it('any sequence of requests is answered as the model says, and stored so', async () => {
  await fuzzPlants(api, client.send, { seed: SEED, numRuns: 15 });
  expect(api.seen.size).toBeGreaterThan(12);
});

it('every operation, also of the example module, answers any request as documented', async () => {
  const { requests } = api;
  await fuzzOperations(api, { seed: SEED, numRuns: 250 });
  expect(api.requests - requests).toBe(250);
});
