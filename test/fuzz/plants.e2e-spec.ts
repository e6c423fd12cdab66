import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { Api } from './api.js';
import { fuzzPlants, sendRows } from './fuzz.js';
import { ClientPool } from '../support/http/client-pool.js';

/** Fixed, so that the suite is the same every time; `npm run prove -- fuzz` takes others. */
const SEED = 20_261_121;

let app: TestApp;
let client: ClientPool;
let api: Api;

beforeAll(async () => {
  app = await TestApp.start({ CHANGE_FEED: 'on' });
  client = new ClientPool(() => app.url);
  api = new Api(client.send, await ApiDocument.load(app.url));
});
afterAll(async () => {
  client.close();
  await app.close();
});

it('each flaw of a request has its error, and each harmless difference none', async () => {
  await sendRows(api, client.send, SEED);
});

it('any sequence of requests is answered as the model says, and stored so', async () => {
  await fuzzPlants(api, client.send, { seed: SEED, runs: 15 });
  expect(api.seen.size).toBeGreaterThan(12);
});
