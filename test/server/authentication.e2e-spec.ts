import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { expectError } from '../support/expect-error.js';
import { TestApp } from '../support/test-app.js';

const SECRET = 'only-its-digest-is-configured';
const DIGEST = createHash('sha256').update(SECRET).digest('hex');
const TOKENS = ` first-token ,, second/token+with=signs~._- , sha256:${DIGEST} ,`;

const MISSING = 'Bearer realm="plant-store"';
const REFUSED = 'Bearer realm="plant-store", error="invalid_token"';

let app: TestApp;
let lastId = 0;

beforeAll(async () => {
  app = await TestApp.start({ ACCESS_TOKENS: TOKENS });
});

afterAll(async () => {
  await app.close();
});

function createWith(authorization: string): ReturnType<TestApp['create']> {
  return app.create(`{"id":${String(++lastId)},"name":"n"}`, { Authorization: authorization });
}

describe('a request whose Authorization is', () => {
  it.each([
    'Bearer first-token',
    'bearer first-token',
    'BEARER    first-token',
    'Bearer second/token+with=signs~._-',
    `Bearer ${SECRET}`,
  ])('"%s" is accepted', async (authorization) => {
    expect(await createWith(authorization)).toMatchObject({ status: 200 });
  });

  it.each(['', 'Bearer', 'Bearer ', 'Basic Zmlyc3QtdG9rZW4=', 'first-token', 'Bearerfirst-token'])(
    '"%s" gets 40100 and a bare challenge',
    async (authorization) => {
      const answer = await createWith(authorization);
      expectError(answer, 'TOKEN_MISSING');
      expect(answer.headers.get('www-authenticate')).toBe(MISSING);
    },
  );

  it.each([
    'Bearer wrong',
    'Bearer first-toke',
    'Bearer first-token2',
    'Bearer FIRST-TOKEN',
    'Bearer first-token first-token',
    'Bearer first-token,second/token+with=signs~._-',
    `Bearer ${DIGEST}`,
    `Bearer sha256:${DIGEST}`,
    'Bearer ,',
    'Bearer "first-token"',
    `Bearer ${'x'.repeat(8_000)}`,
    'Bearer é',
  ])('"%s" gets 40101 and invalid_token', async (authorization) => {
    const answer = await createWith(authorization);
    expectError(answer, 'TOKEN_REFUSED', 'The bearer token is not accepted');
    expect(answer.headers.get('www-authenticate')).toBe(REFUSED);
  });
});

describe('a request without a token', () => {
  it.each([
    ['a body that is not JSON', '{', 'application/json'],
    ['an empty body', '', 'application/json'],
    ['another media type', '{}', 'text/plain'],
  ])('gets 401 whatever it sends: %s', async (_, body, type) => {
    const init = { method: 'POST', body, headers: { 'Content-Type': type } };
    expectError(await app.request('POST', '/plants', init), 'TOKEN_MISSING');
  });
});
