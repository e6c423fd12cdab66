import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, Req } from '@nestjs/common';
import { ApiExcludeController, ApiOperation } from '@nestjs/swagger';
import type { Request } from 'express';
import { createHash } from 'node:crypto';
import { ApiTag, Public, RequireScopes } from 'durable-rest';
import { type Answer, expectError, TOKEN } from 'durable-rest/testing';
import { TestApp } from '../support/fixture-app.js';
import { TokenIssuer } from '../support/token-issuer.js';

const SECRET = 'only-its-digest-is-configured';
const DIGEST = createHash('sha256').update(SECRET).digest('hex');
const TOKENS = ` first-token ,, second/token+with=signs~._- , sha256:${DIGEST}, ${TOKEN} ,`;
const READER = 'may-only-read';
const BOTH = 'first-token';

const PLANT = '{"id":1,"name":"Monstera","tag":"indoor"}';
const STORED = { id: '1', name: 'Monstera', tag: 'indoor' };
/** The method, the path and the body of a request. */
type Call = readonly [method: string, path: string, body?: string | undefined];

const READS: readonly Call[] = [
  ['GET', '/plants/1'],
  ['HEAD', '/plants/1'],
  ['GET', '/plants'],
  ['HEAD', '/plants'],
];
const WRITES: readonly Call[] = [
  ['POST', '/plants', '{"id":2,"name":"Ficus"}'],
  ['PUT', '/plants/1', '{"name":"Ficus"}'],
  ['PUT', '/plants/404', '{}'],
  ['PATCH', '/plants/1', '{"tag":"x"}'],
  ['POST', '/plants/import', '{"id":2,"name":"Ficus"}'],
  ['DELETE', '/plants/1', undefined],
];

class Examples {
  @Get()
  @ApiOperation({ operationId: 'listExamples', summary: 'List examples' })
  list(@Req() { state }: Request): object {
    return { hasTurn: !state.limits.turns.handlers.isIdle };
  }
}

@ApiTag('examples', 'Examples that have a scope of their own')
@Controller('scoped')
@RequireScopes('examples')
class ScopedController extends Examples {
  @Get('own')
  @RequireScopes('examples:own')
  @ApiOperation({ operationId: 'readOwnExample', summary: 'Read an example with its own scope' })
  read(): object {
    return {};
  }

  @Get('open')
  @Public()
  @ApiOperation({ operationId: 'readOpenExample', summary: 'Read an example without a token' })
  readOpen(): object {
    return {};
  }
}

@Public()
@Controller('open')
@ApiExcludeController()
class OpenController extends Examples {}

@Module({ controllers: [ScopedController, OpenController] })
class ExamplesModule {}

const issuer = await TokenIssuer.start();
afterAll(() => issuer.stop());

const app = TestApp.forAll(
  {
    ...{ ACCESS_TOKENS: TOKENS, READ_ACCESS_TOKENS: `${READER},${BOTH}` },
    ...{ ...issuer.env, AUTH_SCOPE: 'plants:write', AUTH_READ_SCOPE: 'plants:read' },
  },
  ExamplesModule,
);

beforeEach(async () => {
  for (const { id } of await app.rows()) await app.delete(`/plants/${id}`);
  await app.create(PLANT);
});

async function ask(authorization: string, ...[method, path, body]: Call): Promise<Answer> {
  const type = path.endsWith('import') ? 'application/x-ndjson' : 'application/json';
  const headers = { 'Content-Type': type, Authorization: authorization };
  return await app.request(method, path, body === undefined ? { headers } : { headers, body });
}

async function askWithScope(scope: string, ...request: Call): Promise<Answer> {
  return await ask(`Bearer ${await issuer.token({ scope })}`, ...request);
}

function expectLacks({ status, headers }: Answer, challenge: string): void {
  expect(status).toBe(403);
  expect(headers.get('www-authenticate')).toBe(
    `Bearer realm="plant-store", error="insufficient_scope"${challenge}`,
  );
}

describe('a static token', () => {
  it.each(['BEARER    first-token', 'Bearer second/token+with=signs~._-', `Bearer ${SECRET}`])(
    'is accepted as Authorization: %s',
    async (authorization) => {
      expect(await ask(authorization, 'GET', '/plants')).toMatchObject({ status: 200 });
    },
  );

  it.each([
    'Bearer FIRST-TOKEN',
    'Bearer first-token,second/token+with=signs~._-',
    `Bearer ${DIGEST}`,
    `Bearer sha256:${DIGEST}`,
    'Bearer ,',
    'Bearer é',
  ])('gets 40101 as Authorization: %s', async (authorization) => {
    expectError(await ask(authorization, 'POST', '/plants', '{'), 'TOKEN_REFUSED');
  });
});

it('a static token in both lists may write', async () => {
  expect(await ask(`Bearer ${BOTH}`, 'DELETE', '/plants/1')).toMatchObject({ status: 204 });
});

describe.each([
  ['a static token that may only read', () => Promise.resolve(READER), 'may only read', ''],
  [
    'a token that has only AUTH_READ_SCOPE',
    () => issuer.token({ scope: 'plants:read' }),
    'does not have the scope',
    ', scope="plants:write"',
  ],
])('%s', (_, getToken, message, challenge) => {
  it.each([...READS, ['GET', '/metrics'] as Call])('is accepted by %s %s', async (...request) => {
    expect(await ask(`Bearer ${await getToken()}`, ...request)).toMatchObject({ status: 200 });
  });

  it.each(WRITES)('gets 40300 for %s %s, and changes nothing', async (method, path, body) => {
    const answer = await ask(`Bearer ${await getToken()}`, method, path, body);
    expectError(answer, 'INSUFFICIENT_SCOPE', expect.stringContaining(message));
    expectLacks(answer, challenge);
    expect(await app.rows()).toEqual([STORED]);
  });
});

it('a token that has only AUTH_SCOPE may write, and not read', async () => {
  for (const request of READS) {
    expectLacks(await askWithScope('plants:write', ...request), ', scope="plants:read"');
  }
  for (const request of WRITES.filter(([, path]) => path !== '/plants/404')) {
    const answer = await askWithScope('plants:write', ...request);
    expect([answer.request, answer.status < 300]).toEqual([answer.request, true]);
  }
});

it('a handler needs its own scopes or none in place of those of its controller, as documented', async () => {
  const challenge = ', scope="examples:own"';
  expectLacks(await askWithScope('examples plants:read', 'GET', '/scoped/own'), challenge);
  expect(await askWithScope('examples:own', 'GET', '/scoped/own')).toMatchObject({ status: 200 });
  expect(await app.request('GET', '/scoped/open')).toMatchObject({ status: 200 });
  const { body } = await app.request('GET', '/openapi.json');
  expect(body).toMatchObject({
    paths: {
      '/scoped/own': { get: { security: [{ bearer: ['examples:own'] }] } },
      '/scoped/open': { get: { security: [] } },
    },
  });
});

describe('a handler that two controllers inherit', () => {
  it('needs the scopes of the controller alone, which the document names', async () => {
    expectLacks(await askWithScope('plants:read', 'GET', '/scoped'), ', scope="examples"');
    expect(await askWithScope('examples', 'GET', '/scoped')).toMatchObject({ status: 200 });
    const { body } = await app.request('GET', '/openapi.json');
    expect(body).toMatchObject({
      paths: {
        '/scoped': { get: { security: [{ bearer: ['examples'] }] } },
        '/plants': { get: { security: [{ bearer: [] }] } },
      },
    });
  });

  it('needs a token and takes a turn where the controller is not public', async () => {
    expectError(await app.request('GET', '/scoped'), 'TOKEN_MISSING');
    expect((await app.get('/scoped')).body).toEqual({ hasTurn: true });
    expect((await app.request('GET', '/open')).body).toEqual({ hasTurn: false });
  });
});
