import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { ApiExcludeController, ApiOperation } from '@nestjs/swagger';
import { createHash } from 'node:crypto';
import { Public, RequireScopes } from '../../src/platform/auth/auth.decorators.js';
import { Turns } from '../../src/platform/requests/turns.js';
import { ApiTag } from '../../src/platform/rest/api.decorators.js';
import { expectError } from '../support/expect-error.js';
import { type Answer, TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { TokenIssuer } from '../support/token-issuer.js';

const SECRET = 'only-its-digest-is-configured';
const DIGEST = createHash('sha256').update(SECRET).digest('hex');
const TOKENS = ` first-token ,, second/token+with=signs~._- , sha256:${DIGEST}, ${TOKEN} ,`;
const READER = 'may-only-read';

const PLANT = '{"id":1,"name":"Monstera","tag":"indoor"}';
const STORED = { id: '1', name: 'Monstera', tag: 'indoor' };
const READS = [
  ['GET', '/plants/1'],
  ['HEAD', '/plants/1'],
  ['GET', '/plants'],
  ['HEAD', '/plants'],
] as const;
const WRITES = [
  ['POST', '/plants', '{"id":2,"name":"Ficus"}'],
  ['PUT', '/plants/1', '{"name":"Ficus"}'],
  ['PATCH', '/plants/1', '{"tag":"x"}'],
  ['POST', '/plants/import', '{"id":2,"name":"Ficus"}'],
  ['DELETE', '/plants/1', undefined],
] as const;

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

async function ask(
  app: TestApp,
  authorization: string | undefined,
  method: string,
  path: string,
  body?: string,
): Promise<Answer> {
  const headers = {
    'Content-Type': path.endsWith('import') ? 'application/x-ndjson' : 'application/json',
    ...(authorization !== undefined && { Authorization: authorization }),
  };
  return await app.request(method, path, body === undefined ? { headers } : { headers, body });
}

describe('static tokens', () => {
  const app = TestApp.forAll({ ACCESS_TOKENS: TOKENS, READ_ACCESS_TOKENS: READER });

  beforeEach(async () => {
    for (const { id } of await app.rows()) await app.delete(`/plants/${id}`);
    await app.create(PLANT);
  });

  it.each(['BEARER    first-token', 'Bearer second/token+with=signs~._-', `Bearer ${SECRET}`])(
    'Authorization: %s is accepted',
    async (authorization) => {
      expect(await ask(app, authorization, 'GET', '/plants')).toMatchObject({ status: 200 });
    },
  );

  it.each([
    'Bearer FIRST-TOKEN',
    'Bearer first-token,second/token+with=signs~._-',
    `Bearer ${DIGEST}`,
    `Bearer sha256:${DIGEST}`,
    'Bearer ,',
    'Bearer é',
  ])('Authorization: %s gets 40101', async (authorization) => {
    expectError(await ask(app, authorization, 'POST', '/plants', '{'), 'TOKEN_REFUSED');
  });

  it.each(WRITES)('%s %s changes nothing without a good token', async (method, path, body) => {
    for (const authorization of [undefined, 'Bearer other', `Bearer ${READER},${TOKEN}`]) {
      expect(await ask(app, authorization, method, path, body)).toMatchObject({ status: 401 });
    }
    expect(await app.rows()).toEqual([STORED]);
  });

  it.each(['GET', 'HEAD', 'PUT', 'DELETE'])(
    '%s does not say without a good token whether a plant is there',
    async (method) => {
      const known = await ask(app, 'Bearer other', method, '/plants/1');
      const unknown = await ask(app, 'Bearer other', method, '/plants/2');
      expect([known.status, known.text]).toEqual([401, unknown.text]);
      expect([...known.headers.keys()]).toEqual([...unknown.headers.keys()]);
    },
  );

  it.each([...READS, ['GET', '/metrics'] as const])(
    '%s %s is answered to a token that may only read',
    async (method, path) => {
      expect(await ask(app, `Bearer ${READER}`, method, path)).toMatchObject({ status: 200 });
    },
  );

  it.each([...WRITES, ['PUT', '/plants/404', '{}'] as const])(
    '%s %s gets 40300 with a token that may only read, and changes nothing',
    async (method, path, body) => {
      const answer = await ask(app, `Bearer ${READER}`, method, path, body);
      expectError(answer, 'INSUFFICIENT_SCOPE', expect.stringContaining('may only read'));
      expectLacks(answer, '');
      expect(await app.rows()).toEqual([STORED]);
    },
  );
});

describe('the scopes of a token of an identity provider', () => {
  let issuer: TokenIssuer;
  let app: TestApp;

  beforeAll(async () => {
    issuer = await TokenIssuer.start();
  });
  afterAll(() => issuer.stop());
  afterEach(() => app.close());

  async function start(AUTH_SCOPE: string, AUTH_READ_SCOPE: string): Promise<void> {
    const env = { ...issuer.env, AUTH_SCOPE, AUTH_READ_SCOPE };
    app = await TestApp.start(env, ScopedExamplesModule);
    await app.create(PLANT);
  }

  async function askWith(
    scope: string,
    ...[method, path, body]: readonly [string, string, string?]
  ): Promise<Answer> {
    return await ask(app, `Bearer ${await issuer.token({ scope })}`, method, path, body);
  }

  it('are AUTH_READ_SCOPE to read, and AUTH_SCOPE to change', async () => {
    await start('plants:write', 'plants:read');
    for (const [method, path] of READS) {
      expectLacks(await askWith('plants:write', method, path), ', scope="plants:read"');
      expect(await askWith('plants:read', method, path)).toMatchObject({ status: 200 });
    }
    for (const [method, path, body] of WRITES) {
      expectLacks(await askWith('plants:read', method, path, body), ', scope="plants:write"');
      expect((await askWith('plants:write', method, path, body)).status).toBeLessThan(300);
    }
  });

  it('are all of AUTH_SCOPE, also to read where AUTH_READ_SCOPE is not set', async () => {
    await start('plants garden', '');
    expectLacks(await askWith('plants', 'GET', '/plants'), ', scope="plants garden"');
    expect(await askWith('garden plants', 'GET', '/plants')).toMatchObject({ status: 200 });
  });

  it('are only the own ones of a route that has some', async () => {
    await start('plants:write', 'plants:read');
    const path = '/scoped-examples';
    expectLacks(await askWith('plants:read', 'GET', path), ', scope="examples"');
    expect(await askWith('examples', 'GET', path)).toMatchObject({ status: 200 });
    const { body } = await app.request('GET', '/openapi.json');
    expect(body).toMatchObject({
      paths: {
        [path]: { get: { security: [{ bearer: ['examples'] }] } },
        '/plants': { get: { security: [{ bearer: [] }] } },
      },
    });
  });
});

function expectLacks({ status, headers }: Answer, challenge: string): void {
  expect(status).toBe(403);
  expect(headers.get('www-authenticate')).toBe(
    `Bearer realm="plant-store", error="insufficient_scope"${challenge}`,
  );
}

describe('a handler that two controllers inherit', () => {
  class Base {
    @Get()
    read(): object {
      return { hasTurn: !Turns.ofHandlers.isIdle };
    }
  }

  @Controller('guarded')
  @ApiExcludeController()
  class GuardedController extends Base {}

  @Public()
  @Controller('open')
  @ApiExcludeController()
  class OpenController extends Base {}

  @Module({ controllers: [GuardedController, OpenController] })
  class SharingModule {}

  const app = TestApp.forAll({}, SharingModule);

  it('needs a token and takes a turn where the controller is not public', async () => {
    expectError(await ask(app, undefined, 'GET', '/guarded'), 'TOKEN_MISSING');
    expect((await ask(app, `Bearer ${TOKEN}`, 'GET', '/guarded')).body).toEqual({ hasTurn: true });
    expect((await ask(app, undefined, 'GET', '/open')).body).toEqual({ hasTurn: false });
  });
});
