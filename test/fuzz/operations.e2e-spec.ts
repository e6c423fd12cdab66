import { afterEach, expect, it } from '@jest/globals';
import { EXAMPLE_MODULES, EXAMPLE_SCHEMA } from '../example/example.js';
import { addToSchema } from '../support/add-to-schema.js';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { Api } from './api.js';
import { fuzzOperations } from './operations.js';
import { ClientPool } from '../support/http/client-pool.js';

addToSchema(EXAMPLE_SCHEMA);

const SEED = 20_261_121;
const RUNS = 25;

let app: TestApp;
let client: ClientPool;

afterEach(async () => {
  client.close();
  await app.close();
});

it.each([
  ['the program', []],
  ['the example modules', EXAMPLE_MODULES],
])('every operation of %s answers any request as the document says', async (_, modules) => {
  app = await TestApp.start({ CHANGE_FEED: 'on' }, ...modules);
  // Without a change, a request for changes would wait for one.
  await app.create('{"id":1,"name":"a"}');
  client = new ClientPool(() => app.url);
  const api = new Api(client.send, await ApiDocument.load(app.url));
  await fuzzOperations(api, { seed: SEED, runs: RUNS });
  expect(api.seen.get('200')).toBeGreaterThan(RUNS);
});
