import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ErrorCatalogue } from '../../src/platform/errors/error-catalogue.js';
import { MALFORMED_REQUESTS } from '../cases/malformed-http.js';
import type { HttpAnswer } from '../support/http/answer.js';
import { listAnswers, exchange } from '../support/http/connection.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

const SHORT_TIMEOUTS = { HEADERS_TIMEOUT_MS: '300', REQUEST_TIMEOUT_MS: '600' };

let app: TestApp;
let impatient: TestApp;

beforeAll(async () => {
  app = await TestApp.start();
  impatient = await TestApp.start(SHORT_TIMEOUTS);
});

afterAll(async () => {
  for (const one of [app, impatient]) {
    expect(await one.rows()).toEqual([]);
    await one.close();
  }
});

function expectError(
  { status, headers, body }: HttpAnswer,
  name: keyof typeof ErrorCatalogue,
): void {
  const { error } = ErrorCatalogue[name];
  expect(status).toBe(Math.floor(error / 100));
  expect(JSON.parse(body)).toEqual({ error, message: expect.any(String) });
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    connection: 'close',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.stringMatching(/./),
  });
}

async function expectOneError(
  { port }: TestApp,
  request: string,
  name: keyof typeof ErrorCatalogue,
): Promise<void> {
  const [answer, ...others] = listAnswers(await exchange(port, request)) as [HttpAnswer];
  expect(others).toEqual([]);
  expectError(answer, name);
}

describe('a connection that sends', () => {
  it.each(MALFORMED_REQUESTS)('$what gets one whole answer and is closed', async (malformed) => {
    await expectOneError(app, malformed.request, malformed.error);
  });

  it.each([
    ['nothing', ''],
    ['half a request line', 'POST /pla'],
    ['half its headers', 'POST /plants HTTP/1.1\r\nHost: a\r\n'],
    [
      'half its body',
      `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 19\r\n\r\n{"id":1`,
    ],
  ])('%s and then waits gets 408', async (_, request) => {
    await expectOneError(impatient, request, 'REQUEST_TIMEOUT');
  });
});
