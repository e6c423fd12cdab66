import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DocumentedService } from './documented-service.js';
import type { Answer } from './http-answer.js';
import type { Transport } from './http-client.js';
import type { HttpRequest } from './http-request.js';
import { OperationFuzzer } from './operation-fuzzer.js';
import { AUTHORIZATION, CONTENT_TYPE } from './requests.js';

// What tests every operation proves something only if it finds what is wrong.

const SEED = 7;
const CASES = 60;

let service: DocumentedService;

beforeAll(async () => {
  service = await DocumentedService.start();
});
afterAll(() => service.close());

/** What a service might do wrong, on the wire: to a request, or to an answer. */
const MISBEHAVIOURS: Readonly<
  Record<string, { request?: (one: HttpRequest) => HttpRequest; answer?: (one: Answer) => Answer }>
> = {
  'lets anybody in': {
    request: (one) => ({ ...one, headers: [AUTHORIZATION, CONTENT_TYPE] }),
  },
  'answers with a status that is not documented': {
    answer: (one) => ({ ...one, status: one.status === 200 ? 202 : one.status }),
  },
  'answers with a member of another type': {
    answer: (one) => withText(one, (text) => text.replace(/"name":"[^"]*"/, '"name":1')),
  },
  'rounds integers': {
    answer: (one) =>
      withText(one, (text) => text.replaceAll('9007199254740993', '9007199254740992')),
  },
  'ignores unknown parameters': {
    request: (one) => ({ ...one, target: one.target.replace(/[?&]other=1$/, '') }),
  },
  'takes an integer in a string': {
    request: (one) => ({
      ...one,
      body: Buffer.from(one.body.toString().replace(/"id":"(\d+)"/, '"id":$1')),
    }),
  },
  'takes null for an optional member': {
    request: (one) => ({
      ...one,
      body: Buffer.from(one.body.toString().replace(/,"tag":null/, '')),
    }),
  },
  'forgets what was replaced': {
    answer: (one) => withText(one, (text) => text.replace(/,"tag":"[^"]*"/, '')),
  },
  'removes nothing': {
    request: (one) => (one.method === 'DELETE' ? { ...one, target: '/plants/77' } : one),
  },
  'fails with a bug': {
    answer: (one) => ({ ...one, status: one.status === 404 ? 500 : one.status }),
  },
  'names its inside': {
    answer: (one) =>
      withText(one, (text) => text.replace('"message":"', '"message":"SQLITE_BUSY ')),
  },
};

function withText(answer: Answer, change: (text: string) => string): Answer {
  return { ...answer, body: Buffer.from(change(answer.body.toString())) };
}

describe('a service that', () => {
  it.each(Object.entries(MISBEHAVIOURS))('%s is found out', async (_, { request, answer }) => {
    const transport: Transport = {
      send: async (one) => {
        const answered = await service.client.send(request?.(one) ?? one);
        return answer?.(answered) ?? answered;
      },
      close: () => undefined,
    };
    const fuzzer = new OperationFuzzer(service.document, transport, SEED, CASES);
    const all = async (): Promise<void> => {
      await fuzzer.run();
      for (const create of fuzzer.creates) await fuzzer.runLives(create);
    };
    await expect(all()).rejects.toThrow(/Property failed|right_error/);
  });
});
