import { afterAll, describe, expect, it } from '@jest/globals';
import { ErrorCatalogue } from 'durable-rest';
import { getStatus } from 'durable-rest/program';
import { TOKEN } from 'durable-rest/testing';
import type { HttpAnswer } from '../support/http/answer.js';
import { exchange } from '../support/http/connection.js';
import { TestApp } from '../support/fixture-app.js';

const START = 'POST /plants HTTP/1.1\r\nHost: a\r\n';
const GOOD = `${START}Authorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`;
const PLANT = '{"id":1,"name":"n"}';

/** One kind of each input that no route can take: the other kinds are those of Node's parser. */
const MALFORMED: readonly (readonly [string, keyof typeof ErrorCatalogue, string])[] = [
  ['not HTTP at all', 'MALFORMED_REQUEST', 'hello\r\n\r\n'],
  ['no Host header', 'MALFORMED_REQUEST', `${GOOD.replace('Host: a\r\n', '')}\r\n`],
  ['two Host headers', 'MALFORMED_REQUEST', `${START}Host: b\r\n\r\n`],
  ['a Host that is none', 'MALFORMED_REQUEST', 'GET / HTTP/1.1\r\nHost: a b/c\r\n\r\n'],
  [
    'a transfer coding that nobody decodes',
    'MALFORMED_REQUEST',
    `${GOOD}Transfer-Encoding: gzip, chunked\r\n\r\n13\r\n${PLANT}\r\n0\r\n\r\n`,
  ],
  [
    'two Content-Length headers that differ',
    'MALFORMED_REQUEST',
    `${GOOD}Content-Length: 19\r\nContent-Length: 18\r\n\r\n${PLANT}`,
  ],
  [
    'Content-Length and Transfer-Encoding together',
    'MALFORMED_REQUEST',
    `${GOOD}Content-Length: 19\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'a chunk longer than its size',
    'MALFORMED_REQUEST',
    `${GOOD}Transfer-Encoding: chunked\r\n\r\n3\r\n${PLANT}\r\n0\r\n\r\n`,
  ],
  [
    'chunk extensions beyond 16 KiB',
    'BODY_TOO_LARGE',
    `${GOOD}Transfer-Encoding: chunked\r\n\r\n13;${'x'.repeat(20_000)}\r\n${PLANT}\r\n0\r\n\r\n`,
  ],
  ['a header beyond 16 KiB', 'HEADERS_TOO_LARGE', `${GOOD}X: ${'x'.repeat(20_000)}\r\n\r\n`],
  ['more than 100 headers', 'HEADERS_TOO_LARGE', `${GOOD}${'X:\r\n'.repeat(98)}\r\n`],
  [
    'an expectation other than 100-continue',
    'EXPECTATION_FAILED',
    `${GOOD}Expect: tea\r\nContent-Length: 19\r\n\r\n${PLANT}`,
  ],
  [
    'an upgrade without a token',
    'TOKEN_MISSING',
    `${START}Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 19\r\n\r\n${PLANT}`,
  ],
  ['a tunnel', 'METHOD_NOT_ALLOWED', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n'],
  [
    'an asterisk as the path',
    'NOT_FOUND',
    'POST * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  ],
];

afterAll(async () => {
  for (const one of [app, impatient]) expect(await one.rows()).toEqual([]);
});

const app = TestApp.forAll();
const impatient = TestApp.forAll({ HEADERS_TIMEOUT_MS: '300', REQUEST_TIMEOUT_MS: '600' });

function expectOneError(answers: HttpAnswer[], name: keyof typeof ErrorCatalogue): void {
  const { error } = ErrorCatalogue[name];
  expect(answers).toMatchObject([
    {
      status: getStatus({ error }),
      headers: {
        'content-type': 'application/json; charset=utf-8',
        connection: 'close',
        'x-content-type-options': 'nosniff',
        'x-request-id': expect.stringMatching(/./),
      },
    },
  ]);
  const body: unknown = JSON.parse(answers[0]?.body ?? '');
  expect(body).toEqual({ error, message: expect.any(String) });
}

it('CONNECT behind a request ends the connection', async () => {
  const connection = `GET /health/live HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n`;
  expect(await exchange(app.port, connection)).toMatchObject([
    { status: 200, headers: { connection: 'close' } },
  ]);
});

it('Transfer-Encoding in HTTP/1.0 ends the connection', async () => {
  const fields = 'Host: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n';
  const request = `GET /health/live HTTP/1.0\r\n${fields}0\r\n\r\n`;
  expect(await exchange(app.port, `${request}${request}`)).toMatchObject([
    { status: 200, headers: { connection: 'close' } },
  ]);
});

it('Transfer-Encoding may be in capital letters', async () => {
  const fields = 'Host: a\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\n\r\n';
  const request = `GET /health/live HTTP/1.1\r\n${fields}0\r\n\r\n`;
  expect(await exchange(app.port, request)).toMatchObject([{ status: 200 }]);
});

it('OPTIONS asks about the whole service with an asterisk', async () => {
  const request = 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  expect(await exchange(app.port, request)).toMatchObject([{ status: 204, body: '' }]);
});

describe('a connection that sends', () => {
  it.each(MALFORMED)('%s gets one whole answer, %s, and is closed', async (_, name, request) => {
    expectOneError(await exchange(app.port, request), name);
  });

  it('nothing, or half a request, and then waits gets 408', async () => {
    const halves = ['', 'POST /pla', START, `${GOOD}Content-Length: 19\r\n\r\n{"id":1`];
    const { port } = impatient;
    const exchanges = halves.map((half) => exchange(port, half));
    for (const answers of await Promise.all(exchanges)) expectOneError(answers, 'REQUEST_TIMEOUT');
  });
});
