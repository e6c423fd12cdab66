import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { HttpClient } from '../support/http/client.js';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { describeFailure, Fuzzer } from './fuzzer.js';
import { ACCESS_TOKENS } from './headers.js';

/** Fixed, so that the suite is the same every time; `npm run prove -- fuzz` takes others. */
const SEED = 20_261_121;
const REQUESTS = 2_000;
const WORKERS = 16;

let app: TestApp;
let document: ApiDocument;

beforeAll(async () => {
  app = await TestApp.start({ ACCESS_TOKENS });
  document = await ApiDocument.load(app.url);
});
afterAll(() => app.close());

describe('every operation of the document', () => {
  it(`answers ${REQUESTS} generated requests rightly, and stores what it acknowledges`, async () => {
    const fuzzer = new Fuzzer(document, SEED, () => new HttpClient(app.url), WORKERS);
    const failure = await fuzzer.run(REQUESTS);
    fuzzer.close();
    expect(failure && describeFailure(failure)).toBeUndefined();
    // An operation without a successful request has not been tested.
    expect(fuzzer.missed).toEqual([]);
    expect(fuzzer.seen.size).toBeGreaterThan(12);
  });
});
