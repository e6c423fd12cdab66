import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiDocument } from './api-document.js';
import { TestApp } from '../support/test-app.js';
import { ACCESS_TOKENS } from './headers.js';
import { describeFailure, Fuzzer } from './fuzzer.js';
import { HttpClient } from './http-client.js';
import { auditStore } from './store-audit.js';

/** Fixed, so that the suite is the same every time; `npm run fuzz` takes others. */
const SEED = 20_240_613;
const REQUESTS = 2_000;

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({ ACCESS_TOKENS });
});
afterAll(() => app.close());

describe(`POST /plants under ${REQUESTS} made-up requests, seed ${SEED}`, () => {
  it('answers every one as the documents say, and stores what it says it stored', async () => {
    const document = await ApiDocument.load(app.url);
    const fuzzer = new Fuzzer(document, SEED, () => new HttpClient(app.url), 16);
    const failure = await fuzzer.run(REQUESTS);
    fuzzer.close();

    expect(failure && describeFailure(failure)).toBeUndefined();
    expect(await auditStore(app.storeUrl, fuzzer.model)).toEqual([]);
    expect([...fuzzer.seen.keys()]).toEqual(
      expect.arrayContaining(['200', '400 40002', '401 40101', '405 40500', '409 40900']),
    );
  });
});
