import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { NurseryApp } from '../../examples/nursery/test/nursery-app.js';
import { HttpClient } from '../support/http/request.js';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { Api } from './api.js';
import { fuzzPlants, sendRows } from './fuzz.js';
import { fuzzOperations } from './operations.js';

/** Fixed, so that the suite is the same every time; `npm run prove -- fuzz` takes others. */
const SEED = 20_261_121;

const app = TestApp.forAll({ CHANGE_FEED: 'on' });
const nursery = NurseryApp.forAll();
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

it('every operation of plants and changes answers any request as documented', async () => {
  // `npm run prove -- fuzz` also sends requests to the operations of other modules.
  await fuzzOperations(api, { seed: SEED, numRuns: 100 }, /^\/(?:plants|changes)\b/);
});

it('every operation of the nursery does so too', async () => {
  // Otherwise a request may wait for the first change of the feed.
  await nursery.sellPlant();
  const nurseryClient = new HttpClient(() => nursery.url);
  const document = await ApiDocument.load(nursery.url);
  await fuzzOperations(new Api(nurseryClient.send, document), { seed: SEED, numRuns: 200 });
  nurseryClient.close();
});
