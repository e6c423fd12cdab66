import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiDocument } from './api-document.js';
import { TestApp } from '../support/test-app.js';
import { ACCESS_TOKENS } from './headers.js';
import { CATS_CASES, type CatsCase, ID } from './cats.js';
import type { Probe } from './expected.js';
import { Fuzzer } from './fuzzer.js';
import { HttpClient } from './http-client.js';
import { requestOf } from './requests.js';
import { auditStore } from './store-audit.js';

let app: TestApp;
let fuzzer: Fuzzer;

beforeAll(async () => {
  app = await TestApp.start({ ACCESS_TOKENS });
  fuzzer = new Fuzzer(await ApiDocument.load(app.url), 0, () => new HttpClient(app.url), 1);
});
afterAll(async () => {
  fuzzer.close();
  await app.close();
});

function probeOf({ body, request, expected }: CatsCase, freshId: bigint): Probe {
  return {
    request: requestOf(body.replace(ID, String(freshId)), request),
    expected:
      typeof expected === 'number'
        ? { kind: 'error', error: expected }
        : { kind: 'create', plant: { id: freshId, ...expected } },
  };
}

const fuzzers = [...new Set(CATS_CASES.map((one) => one.fuzzer))];

describe('the input classes of CATS', () => {
  it.each(fuzzers)('%s', async (name) => {
    for (const [index, one] of CATS_CASES.entries()) {
      if (one.fuzzer !== name) continue;
      const fault = await fuzzer.check(probeOf(one, 1_000n + BigInt(index)));
      expect(fault && { body: one.body, faults: fault.faults }).toBeUndefined();
    }
  });

  it('left nothing behind but what was created', async () => {
    expect(await auditStore(app.storeUrl, fuzzer.model)).toEqual([]);
  });
});
