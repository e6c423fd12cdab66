import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';
import { RequireScopes } from '../../src/platform/auth/auth.decorators.js';
import { ApiTag } from '../../src/platform/rest/api-tag.decorator.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { TokenIssuer } from '../support/token-issuer.js';

const READER = 'a-token-that-may-only-read';
const JSON_BODY = { 'Content-Type': 'application/json' };

@ApiTag('scoped examples', 'Examples that have a scope of their own')
@Controller('scoped-examples')
@RequireScopes('examples')
class ScopedExamplesController {
  @Get()
  @ApiOperation({ operationId: 'listScopedExamples', summary: 'List scoped examples' })
  list(): object {
    return {};
  }
}

@Module({ controllers: [ScopedExamplesController] })
class ScopedExamplesModule {}

let app: TestApp;
let issuer: TokenIssuer;

beforeAll(async () => {
  issuer = await TokenIssuer.start();
});

afterAll(() => issuer.stop());

afterEach(() => app.close());

/** Requests, each with a different token. */
const READS = [
  ['GET', '/plants'],
  ['GET', '/plants/1'],
  ['HEAD', '/plants/1'],
] as const;
const WRITES = [
  ['POST', '/plants'],
  ['PUT', '/plants/1'],
  ['DELETE', '/plants/1'],
] as const;

async function send(method: string, path: string, token: string): Promise<Answer> {
  const headers = { Authorization: `Bearer ${token}`, ...JSON_BODY };
  const body = ['POST', 'PUT'].includes(method) ? '{"id":1,"name":"n"}' : undefined;
  return await app.request(method, path, { headers, ...(body !== undefined && { body }) });
}

function expectLacks({ status, headers }: Answer, challenge: string): void {
  expect(status).toBe(403);
  expect(headers.get('www-authenticate')).toBe(
    `Bearer realm="plant-store", error="insufficient_scope"${challenge}`,
  );
}

describe('a token of READ_ACCESS_TOKENS', () => {
  it('reads, and changes nothing', async () => {
    app = await TestApp.start({ READ_ACCESS_TOKENS: READER });
    for (const [method, path] of WRITES) {
      const answer = await send(method, path, READER);
      expectError(
        answer,
        'INSUFFICIENT_SCOPE',
        expect.stringMatching(/^This access token may only read/),
      );
      expectLacks(answer, '');
    }
    expect(await app.rows()).toEqual([]);
    await app.create('{"id":1,"name":"n"}');
    for (const [method, path] of READS) {
      expect(await send(method, path, READER)).toMatchObject({ status: 200 });
    }
    expect((await send('GET', '/metrics', READER)).status).toBe(200);
  });

  it('leaves the access of other tokens unchanged', async () => {
    app = await TestApp.start({ READ_ACCESS_TOKENS: READER });
    for (const [method, path] of [...WRITES.slice(0, 1), ...READS, ...WRITES.slice(1)]) {
      expect((await send(method, path, TOKEN)).status).toBeLessThan(300);
    }
  });
});

describe("a token of an identity provider's", () => {
  const scoped = (env: Record<string, string>): Promise<TestApp> =>
    TestApp.start({ ...issuer.env, ...env }, ScopedExamplesModule);

  it('needs AUTH_READ_SCOPE to read, and AUTH_SCOPE to change', async () => {
    app = await scoped({ AUTH_SCOPE: 'plants:write', AUTH_READ_SCOPE: 'plants:read' });
    const reader = await issuer.token({ scope: 'plants:read' });
    const writer = await issuer.token({ scope: 'plants:write' });
    const both = await issuer.token({ scope: 'plants:read plants:write' });
    for (const [method, path] of WRITES) {
      expectLacks(await send(method, path, reader), ', scope="plants:write"');
    }
    for (const [method, path] of READS) {
      expectLacks(await send(method, path, writer), ', scope="plants:read"');
    }
    expect((await send('POST', '/plants', writer)).status).toBe(200);
    for (const [method, path] of READS) {
      expect((await send(method, path, reader)).status).toBe(200);
    }
    for (const [method, path] of WRITES.slice(1)) {
      expect((await send(method, path, both)).status).toBeLessThan(300);
    }
  });

  it('needs AUTH_SCOPE to read where AUTH_READ_SCOPE is not set', async () => {
    app = await scoped({ AUTH_SCOPE: 'plants', AUTH_READ_SCOPE: '' });
    expectLacks(await send('GET', '/plants', await issuer.token({})), ', scope="plants"');
    expect((await send('GET', '/plants', await issuer.token({ scope: 'plants' }))).status).toBe(
      200,
    );
  });

  it('needs each of several scopes', async () => {
    app = await scoped({ AUTH_SCOPE: 'plants garden', AUTH_READ_SCOPE: '' });
    const one = await issuer.token({ scope: 'plants' });
    expectLacks(await send('GET', '/plants', one), ', scope="plants garden"');
    const both = await issuer.token({ scope: 'garden plants' });
    expect((await send('GET', '/plants', both)).status).toBe(200);
  });

  it('needs only the own scope of a route that has one', async () => {
    app = await scoped({ AUTH_SCOPE: 'plants:write', AUTH_READ_SCOPE: 'plants:read' });
    const reader = await issuer.token({ scope: 'plants:read' });
    expectLacks(await send('GET', '/scoped-examples', reader), ', scope="examples"');
    const visitor = await issuer.token({ scope: 'examples' });
    expect((await send('GET', '/scoped-examples', visitor)).status).toBe(200);
    const { body } = await app.request('GET', '/openapi.json');
    expect(body).toMatchObject({
      paths: {
        '/scoped-examples': { get: { security: [{ bearer: ['examples'] }] } },
        '/plants': { get: { security: [{ bearer: [] }] } },
      },
    });
  });
});
