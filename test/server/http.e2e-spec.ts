import { describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError, ErrorCatalogue } from 'durable-rest';
import {
  expectError,
  holdTimeouts,
  passTimeouts,
  resetClocks,
  stopClock,
  TOKEN,
} from 'durable-rest/testing';
import { PlantsService } from '../fixtures/plants.module.js';
import { ClientConnection, exchange, openSocket } from '../support/http/connection.js';
import { TestApp } from '../support/fixture-app.js';

const app = TestApp.forAll();

function head(...lines: string[]): string {
  return [...lines, 'Host: localhost', '', ''].join('\r\n');
}

it.each([
  ['PUT', '/plants', 405, 'GET, HEAD, OPTIONS, POST'],
  ['OPTIONS', '/plants', 204, 'GET, HEAD, OPTIONS, POST'],
  ['POST', '/plants/1', 405, 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
  ['OPTIONS', '/plants/1', 204, 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
  ['POST', '/?id=1', 405, 'GET, HEAD, OPTIONS'],
])('%s %s gets %i with the methods of the path', async (method, path, status, allow) => {
  const answer = await app.request(method, path);
  expect(answer.status).toBe(status);
  expect(answer.headers.get('allow')).toBe(allow);
});

it('a page has the same link for a target with a scheme and a host', async () => {
  await app.create('{"id":21,"name":"n"}');
  await app.create('{"id":22,"name":"n"}');
  const fields = [`Authorization: Bearer ${TOKEN}`, 'Connection: close'];
  const query = '/plants?limit=1&sort=-id';
  const targets = [query, `http://localhost${query}`, `http://user@localhost:1${query}`];
  const requests = targets.map((target) => head(`GET ${target} HTTP/1.1`, ...fields));
  const answers = await Promise.all(requests.map((request) => exchange(app.port, request)));
  expect(answers.map(([answer]) => answer?.headers.link)).toEqual(
    targets.map(() => '</plants?limit=1&after=22&sort=-id>; rel="next"'),
  );
});

it('an error that cannot be written closes the connection, and the service goes on', async () => {
  const failure = new ApiError(ErrorCatalogue.UNAVAILABLE, 'bug', { 'X-Bug': '\n' });
  const create = jest.spyOn(app.nest.get(PlantsService), 'create').mockRejectedValue(failure);
  await expect(app.create('{"id":1,"name":"n"}')).rejects.toThrow();
  create.mockRestore();
  expectError(await app.create('{'), 'UNREADABLE_BODY');
});

describe('every answer', () => {
  it.each(['/plants', '/plants?limit=x', '/plants/1', '/docs'])(
    'to HEAD %s ends with its headers',
    async (path) => {
      const socket = openSocket(app.port);
      const fields = ['Connection: close', `Authorization: Bearer ${TOKEN}`];
      socket.write(head(`HEAD ${path} HTTP/1.1`, ...fields));
      const received = String(await buffer(socket));
      expect(received).toMatch(/\r\nContent-Length: [1-9]/i);
      expect(received.indexOf('\r\n\r\n')).toBe(received.length - 4);
    },
  );

  it.each([
    ['GET', '/nothing'],
    ['POST', '/plants'],
    ['OPTIONS', '/plants'],
  ])('to %s %s carries the security headers and a request id', async (method, path) => {
    const { headers } = await app.request(method, path);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'x-request-id': expect.stringMatching(/^[\w-]{36}$/),
    });
    expect(headers.has('x-powered-by')).toBe(false);
    expect(headers.has('access-control-allow-origin')).toBe(false);
  });

  it.each([
    ['a.b:c/d+e=f@g_h-i', /^a\.b:c\/d\+e=f@g_h-i$/],
    ['x'.repeat(128), /^x{128}$/],
    ['x'.repeat(129), /^[\w-]{36}$/],
    ['a b', /^[\w-]{36}$/],
  ])('repeats the request id "%s" if it is valid', async (id, expected) => {
    const answer = await app.request('GET', '/', { headers: { 'X-Request-Id': id } });
    expect(answer.headers.get('x-request-id')).toMatch(expected);
  });
});

describe('an early refusal', () => {
  const upload = [
    `POST /plants HTTP/1.1`,
    'Content-Type: application/json',
    `Content-Length: ${String(5 * 1024 * 1024)}`,
  ];

  it.each([
    ['401 without a token', upload, 401],
    ['413 with one', [...upload, `Authorization: Bearer ${TOKEN}`], 413],
  ])('of a 5 MB body is read by a client that sends first: %s', async (_, lines, status) => {
    const body = Buffer.alloc(5 * 1024 * 1024, 0x20);
    const request = Buffer.concat([Buffer.from(head(...lines)), body]);
    expect(await exchange(app.port, request)).toMatchObject([{ status }]);
  });

  it('cuts off a client that never stops sending', async () => {
    const socket = openSocket(app.port);
    socket.write(head('POST /plants HTTP/1.1', `Content-Length: ${String(2 ** 40)}`));
    const chunk = Buffer.alloc(1024 * 1024);
    const send = (): void => {
      while (socket.writable && socket.write(chunk));
    };
    socket.on('drain', send);
    send();
    await new Promise((resolve) => socket.on('close', resolve));
    expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024);
  });

  it('waits 5 seconds for the rest of a body, and then closes the connection', async () => {
    const socket = openSocket(app.port);
    const closed = once(socket, 'end');
    // However slow this machine is, no time passes before the limit begins.
    stopClock();
    holdTimeouts();
    try {
      socket.write(head(...upload));
      await once(socket, 'data');
      passTimeouts(4_999);
      for (let turn = 0; turn < 100; turn++) await nextTurn();
      expect(socket.readableEnded).toBe(false);
      passTimeouts(1);
      await closed;
    } finally {
      resetClocks();
      socket.destroy();
    }
  });
});

describe('Expect: 100-continue', () => {
  const body = '{"id":100,"name":"n"}';
  const lines = [
    'POST /plants HTTP/1.1',
    'Content-Type: application/json',
    `Content-Length: ${String(body.length)}`,
    'Expect: 100-continue',
  ];

  it('gets 100 (Continue) with a token, and then its answer', async () => {
    const client = new ClientConnection(app.port);
    await client.write(head(...lines, `Authorization: Bearer ${TOKEN}`));
    expect(await client.next()).toMatchObject({ status: 100 });
    await client.write(body);
    expect(await client.next()).toMatchObject({ status: 200 });
    client.socket.destroy();
  });

  it.each([
    ['without a token', lines, 401],
    ['with another media type', [...lines.toSpliced(1, 1), `Authorization: Bearer ${TOKEN}`], 415],
    [
      'with too long a body',
      [...lines.toSpliced(2, 1, 'Content-Length: 102401'), `Authorization: Bearer ${TOKEN}`],
      413,
    ],
  ])('gets no 100 (Continue) %s', async (_, request, status) => {
    const client = new ClientConnection(app.port);
    await client.write(head(...request));
    expect(await client.next()).toMatchObject({ status, headers: { connection: 'close' } });
    client.socket.destroy();
  });
});

it.each([
  ['100-continue', 101],
  ['tea', 102],
])('Expect: %s is ignored in HTTP/1.0', async (expectation, id) => {
  const body = `{"id":${id},"name":"n"}`;
  const request = head(
    'POST /plants HTTP/1.0',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    `Expect: ${expectation}`,
    `Authorization: Bearer ${TOKEN}`,
  );
  expect(await exchange(app.port, `${request}${body}`)).toMatchObject([{ status: 200 }]);
});

const LISTS = [
  ['GET', '/plants', 200],
  ['HEAD', '/plants', 200],
  ['GET', '/plants?limit=x', 400],
  ['HEAD', '/plants?limit=x', 400],
] as const;

it('a page of a configured origin may use the operations, and no other may', async () => {
  const open = await TestApp.start({ CORS_ORIGINS: 'https://shop.test, http://localhost:8080' });
  const preflight = { 'Access-Control-Request-Method': 'POST' };
  for (const origin of ['https://shop.test', 'http://localhost:8080']) {
    const headers = { Origin: origin, ...preflight };
    const asked = await open.request('OPTIONS', '/plants', { headers });
    expect({ status: asked.status, ...Object.fromEntries(asked.headers) }).toMatchObject({
      status: 204,
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET,HEAD,POST,PUT,PATCH,DELETE',
      'access-control-allow-headers':
        'Authorization,Content-Type,If-Match,If-None-Match,X-Request-Id,traceparent,tracestate,baggage',
      allow: 'GET, HEAD, OPTIONS, POST',
    });
    for (const [method, path, status] of LISTS) {
      const request = { headers: { ...open.authorization, Origin: origin } };
      const answer = await open.request(method, path, request);
      const seen = { method, path, status: answer.status, ...Object.fromEntries(answer.headers) };
      expect(seen).toMatchObject({
        ...{ method, path, status, vary: 'Origin, Accept' },
        'access-control-allow-origin': origin,
        'access-control-expose-headers':
          'Accept-Patch,ETag,Link,Location,RateLimit,RateLimit-Policy,Retry-After,WWW-Authenticate,X-Request-Id',
      });
    }
  }
  for (const origin of ['https://evil.test', 'http://shop.test', 'null']) {
    const headers = { Origin: origin, ...preflight };
    const { headers: answered } = await open.request('OPTIONS', '/plants', { headers });
    expect([origin, answered.get('access-control-allow-origin')]).toEqual([origin, null]);
  }
  await open.close();
});
