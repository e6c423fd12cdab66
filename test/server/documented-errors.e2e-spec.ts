import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { ConstraintError } from '../../src/platform/database/constraint.error.js';
import { ErrorCatalogue, type ErrorEntry } from '../../src/platform/errors/error-catalogue.js';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { expectError } from '../support/expect-error.js';
import { listAnswers, exchange } from '../support/http/connection.js';
import { type Answer, TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { TokenIssuer } from '../support/token-issuer.js';

const PLANT = '{"id":1,"name":"n"}';
const POST = `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`;

/** The settings that the causes of these errors need, and others cannot have. */
const SETTINGS: Partial<Record<keyof typeof ErrorCatalogue, Record<string, string>>> = {
  REQUEST_TIMEOUT: { HEADERS_TIMEOUT_MS: '200', REQUEST_TIMEOUT_MS: '200' },
  TOO_MANY_REQUESTS: { RATE_LIMIT: '3/60' },
};

/** One way to get each error of the platform. */
const CAUSES: Record<keyof typeof ErrorCatalogue, (app: TestApp) => Promise<Answer>> = {
  MALFORMED_REQUEST: (app) => raw(app, 'nonsense\r\n\r\n'),
  UNREADABLE_BODY: (app) => app.create('{'),
  INVALID_BODY: (app) => app.create('{}'),
  INVALID_PARAMETERS: (app) => app.get('/plants?limit=0'),
  TOKEN_MISSING: (app) => app.request('POST', '/plants'),
  TOKEN_REFUSED: (app) => app.create(PLANT, { Authorization: 'Bearer other' }),
  INSUFFICIENT_SCOPE: async (app) =>
    app.create(PLANT, { Authorization: `Bearer ${await issuer.token({ scope: 'other' })}` }),
  NOT_FOUND: (app) => app.request('GET', '/nothing'),
  METHOD_NOT_ALLOWED: (app) => app.request('PATCH', '/plants'),
  REQUEST_TIMEOUT: (app) => raw(app, `${POST}Content-Length: 19\r\n\r\n`),
  CONFLICT: (app) => failWith(app, new ConstraintError('unique', 'plants', ['name'])),
  CHANGES_GONE: (app) => app.get('/changes?after=0.0123456789ab'),
  PRECONDITION_FAILED: async (app) => {
    await app.create(PLANT);
    return await app.get('/plants/1', { 'If-Match': '"other"' });
  },
  BODY_TOO_LARGE: (app) => app.create(' '.repeat(200_000)),
  UNSUPPORTED_MEDIA_TYPE: (app) => app.create(PLANT, { 'Content-Type': 'text/plain' }),
  EXPECTATION_FAILED: (app) => raw(app, `${POST}Expect: tea\r\nContent-Length: 0\r\n\r\n`),
  TOO_MANY_REQUESTS: async (app) => {
    for (let count = 0; count < 3; count++) await app.create(PLANT);
    return await app.create(PLANT);
  },
  HEADERS_TOO_LARGE: (app) => raw(app, `${POST}X-A: ${'x'.repeat(20_000)}\r\n\r\n`),
  INTERNAL: (app) => failWith(app, new TypeError('a bug at /secret/path')),
  UNAVAILABLE: async (app) => {
    await app.query('ALTER TABLE plants RENAME TO elsewhere');
    const answer = await app.create(PLANT);
    await app.query('ALTER TABLE elsewhere RENAME TO plants');
    return answer;
  },
};

async function failWith(app: TestApp, error: Error): Promise<Answer> {
  jest.spyOn(app.nest.get(PlantsService), 'create').mockRejectedValueOnce(error);
  return await app.create(PLANT);
}

async function raw(app: TestApp, request: string): Promise<Answer> {
  const [answer] = listAnswers(await exchange(app.port, request, (text) => text.endsWith('}')));
  if (answer === undefined) throw new Error('there is no answer');
  const { status, headers, body } = answer;
  return { status, headers: new Headers(headers), body: JSON.parse(body), text: body };
}

let issuer: TokenIssuer;

beforeAll(async () => {
  issuer = await TokenIssuer.start();
});
afterAll(() => issuer.stop());

const app = TestApp.forAll(() => ({
  ...{ RATE_LIMIT: 'off', CHANGE_FEED: 'on', AUTH_SCOPE: 'plants:write' },
  ...issuer.env,
}));

it.each(Object.keys(CAUSES))(
  'every error of the catalogue %s is answered, with its headers',
  async (name) => {
    const key = name as keyof typeof ErrorCatalogue;
    const entry: ErrorEntry = ErrorCatalogue[key];
    const settings = SETTINGS[key];
    const own = settings === undefined ? app : await TestApp.start(settings);
    const answer = await CAUSES[key](own);
    if (own !== app) await own.close();
    expectError(answer, entry, expect.not.stringMatching(/secret|SQL|node_modules|TypeError/i));
    for (const [header, value] of Object.entries(entry.headers ?? {})) {
      // The time to wait depends on the clock, and the scope on the configuration.
      if (header === 'Retry-After') expect(answer.headers.get(header)).toMatch(/^\d+$/);
      else expect(answer.headers.get(header)).toContain(value);
    }
  },
);
