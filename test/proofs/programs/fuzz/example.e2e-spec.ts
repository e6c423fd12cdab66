import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiDocument } from '../../../fuzz/api-document.js';
import { describeFailure, Fuzzer } from '../../../fuzz/fuzzer.js';
import { ACCESS_TOKENS } from '../../../fuzz/headers.js';
import { HttpClient } from '../../../support/http/client.js';
import { TestApp } from '../../../support/test-app.js';
import { addToSchema } from '../../../support/add-to-schema.js';
import { EXAMPLE_MODULES, EXAMPLE_SCHEMA } from '../../../example/example.js';

addToSchema(EXAMPLE_SCHEMA);

const SEED = 20_261_121;
const REQUESTS = 1_500;
const WORKERS = 16;

let app: TestApp;
let document: ApiDocument;

beforeAll(async () => {
  app = await TestApp.start({ ACCESS_TOKENS }, ...EXAMPLE_MODULES);
  document = await ApiDocument.load(app.url);
});
afterAll(() => app.close());

describe('every operation of the program with gardens and plantings', () => {
  it(`answers ${REQUESTS} generated requests rightly, and stores what it acknowledges`, async () => {
    const fuzzer = new Fuzzer(document, SEED, () => new HttpClient(app.url), WORKERS);
    const failure = await fuzzer.run(REQUESTS);
    fuzzer.close();
    expect(failure && describeFailure(failure)).toBeUndefined();
    expect(fuzzer.missed).toEqual([]);
  });
});
