import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { HttpClient } from '../support/http/client.js';
import { TestApp } from '../support/test-app.js';
import { ApiDocument } from './api-document.js';
import { describeFailure, Fuzzer } from './fuzzer.js';
import { ACCESS_TOKENS } from './headers.js';

// Generated requests contain the values of the lists by chance. Here, each value occurs once, in a
// request that is otherwise valid.

let app: TestApp;

beforeAll(async () => {
  app = await TestApp.start({ ACCESS_TOKENS });
});
afterAll(() => app.close());

it('every operation answers each flaw and each precondition as the document says', async () => {
  const document = await ApiDocument.load(app.url);
  const fuzzer = new Fuzzer(document, 1, () => new HttpClient(app.url), 1);
  const failure = await fuzzer.runRows();
  fuzzer.close();
  expect(failure && describeFailure(failure)).toBeUndefined();
  expect(fuzzer.requests).toBeGreaterThan(2_000);
});
