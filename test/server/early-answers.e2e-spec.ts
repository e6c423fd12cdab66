import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, HttpCode, Module, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { buffer, text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { holdTimeouts, passTimeouts, resetClocks, TOKEN, until } from 'durable-rest/testing';
import { PlantsService } from '../fixtures/plants.module.js';
import type { HttpAnswer } from '../support/http/answer.js';
import { ClientConnection, openSocket } from '../support/http/connection.js';
import { writeCreateRequest } from '../support/plant-requests.js';
import { listServerSockets, sendPieces } from '../support/server-connections.js';
import { TestApp } from '../support/fixture-app.js';

/** How often the handlers below have acted. */
let acts = 0;

@Controller('acts')
class ActsController {
  @Post('without-body')
  @HttpCode(204)
  act(): void {
    acts++;
  }

  @Post('own-reader')
  @HttpCode(204)
  async read(@Req() request: Request): Promise<void> {
    await text(request);
    acts++;
  }
}

@Module({ controllers: [ActsController] })
class ActsModule {}

const app = TestApp.forAll({}, ActsModule);

afterEach(() => {
  jest.restoreAllMocks();
  resetClocks();
  acts = 0;
});

function head(line: string, ...headers: string[]): string {
  const all = ['Host: a', `Authorization: Bearer ${TOKEN}`, ...headers];
  return `${line} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`;
}

/** Many times as much as is discarded after an answer, in bytes. */
const ENDLESS = 1024 * 1024 * 1024;
/** More than the buffers of a connection take. */
const LONG = 'x'.repeat(6 * 1024 * 1024);
/** A chunked body whose second chunk is malformed. */
const MALFORMED = '1\r\nx\r\nZZ\r\n';
const CHUNKED = 'Transfer-Encoding: chunked';

/** Sends each piece when the one before has been read, ends its side, and waits for the end. */
async function send(...pieces: string[]): Promise<HttpAnswer[]> {
  const client = await sendPieces(app, pieces);
  client.socket.end();
  await client.closed;
  return client.answers;
}

describe('a body that nobody reads', () => {
  const bodies: [string, string, string][] = [
    ['malformed', CHUNKED, MALFORMED],
    ['cut off by the end of the connection', 'Content-Length: 10', 'abc'],
  ];

  it.each(bodies)('may be %s: a change is made and not refused', async (_, header, body) => {
    for (const pieces of [1, 2]) {
      await app.create('{"id":7,"name":"n"}');
      const request = head('DELETE /plants/7', header);
      const answers = await send(...(pieces === 1 ? [request + body] : [request, body]));
      const statuses = answers.map(({ status }) => status);
      expect({ pieces, statuses, rows: await app.rows() }).toEqual({
        pieces,
        statuses: [204],
        rows: [],
      });
    }
  });

  it.each(bodies)('may be %s in a request of a module', async (_, header, body) => {
    const answers = await send(head('POST /acts/without-body', header) + body);
    expect([answers.map(({ status }) => status), acts]).toEqual([[204], 1]);
  });

  it('may be malformed while a handler works', async () => {
    let release: () => void = () => undefined;
    const remove = jest.spyOn(app.nest.get(PlantsService), 'remove');
    remove.mockImplementation(() => new Promise((resolve) => (release = resolve)));
    const sockets = listServerSockets(app);
    const client = new ClientConnection(app.port);
    const request = head('DELETE /plants/7', CHUNKED);
    await client.write(request);
    await until(() => remove.mock.calls.length === 1);
    await client.write(MALFORMED);
    await until(() => sockets[0]?.bytesRead === request.length + MALFORMED.length);
    release();
    await client.closed;
    expect(client.answers).toMatchObject([{ status: 204, headers: { connection: 'close' } }]);
  });

  it('gets no second answer when it becomes malformed after the first one', async () => {
    const client = new ClientConnection(app.port);
    await client.write(head('GET /health/live', CHUNKED));
    await client.next();
    await client.write(MALFORMED);
    await client.closed;
    expect(client.answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }]);
  });

  it.each([
    'GET /health/live',
    'HEAD /openapi.json',
    'OPTIONS /plants',
    'GET /plants',
    'GET /docs',
  ])('is not read without limit after the answer: %s', async (line) => {
    const client = new ClientConnection(app.port);
    await client.write(head(line, 'Content-Length: 100000000000'));
    const piece = Buffer.alloc(65_536);
    let sent = 0;
    for (; sent < ENDLESS && !client.socket.closed; sent += piece.length) await client.write(piece);
    expect(sent).toBeLessThan(ENDLESS);
  });

  it('is read for five seconds after the answer, however often a part of it comes', async () => {
    holdTimeouts();
    const sockets = listServerSockets(app);
    const client = new ClientConnection(app.port);
    await client.write(head('GET /health/live', 'Content-Length: 1000'));
    await client.next();
    let seconds = 0;
    for (; seconds < 60 && sockets[0]?.writable === true; seconds++) {
      const before = sockets[0].bytesRead;
      await client.write('x');
      await until(() => sockets[0]?.writable === false || sockets[0]?.bytesRead !== before);
      passTimeouts(1_000);
      for (let turn = 0; turn < 20; turn++) await nextTurn();
    }
    expect(seconds).toBeLessThanOrEqual(6);
  });

  it.each([
    ['/plants', 'application/json'],
    ['/plants', 'application/x-ndjson'],
    ['/openapi.json', '*/*'],
    ['/health/live', '*/*'],
  ])(
    'leaves the answer to HEAD %s with Accept: %s the length that it has',
    async (path, accept) => {
      const headers = { ...app.authorization, Accept: accept };
      const usual = await app.request('HEAD', path, { headers });
      const socket = openSocket(app.port);
      socket.end(head(`HEAD ${path}`, `Accept: ${accept}`, 'Content-Length: 10'));
      const answer = (await buffer(socket)).toString();
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
      const [, length = null] = /^Content-Length: (.*)\r$/im.exec(answer) ?? [];
      expect(length).toBe(usual.headers.get('content-length'));
    },
  );

  it('lets the client read the answer, and ends the connection once it has arrived', async () => {
    const client = new ClientConnection(app.port);
    await client.write(head('GET /openapi.json', 'Content-Length: 10'));
    expect(await client.next()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await client.write('0123456789');
    await client.closed;
    expect(client.answers).toHaveLength(1);
  });
});

describe('a body that is read', () => {
  it.each<[string, string, string]>([
    ['malformed', CHUNKED, MALFORMED],
    ['cut off', 'Content-Length: 10', 'abc'],
  ])('and is %s gets one refusal, and nothing is done', async (_, header, body) => {
    const json = ['Content-Type: application/json', header];
    const requests = [head('POST /plants', ...json), head('POST /acts/own-reader', header)];
    for (const request of requests) {
      const answers = await send(request, body);
      const seen = answers.map(({ status, headers }) => [status, headers.connection]);
      expect([request, ...seen]).toEqual([request, [400, 'close']]);
      expect(answers[0]?.body).toContain('40000');
    }
    const answers = await send(head('POST /plants', ...json) + body);
    expect(answers).toMatchObject([{ status: 400, headers: { connection: 'close' } }]);
    expect([await app.rows(), acts]).toEqual([[], 0]);
  });
});

describe('a connection stays open', () => {
  const BODY = 'Content-Length: 2\r\n\r\n{}';
  const withBody = (line: string): string => head(line, BODY).slice(0, -4);

  it.each<[string, string, number]>([
    ['a request without a body', head('GET /plants'), 200],
    ['one that no route matches', head('GET /nothing'), 404],
    ['one whose method is not allowed', head('DELETE /plants'), 405],
    ['OPTIONS', head('OPTIONS /plants'), 204],
    ['a page of the documents', head('GET /docs'), 200],
    ['a body of no length', head('DELETE /plants/9', 'Content-Length: 0'), 404],
    ['a refused token', head('GET /plants').replace(TOKEN, 'wrong'), 401],
    ['a body that came with the headers', withBody('DELETE /plants/9'), 404],
    ['such a body without a route', withBody('POST /nothing'), 404],
    ['such a body with a refused token', withBody('POST /plants').replace(TOKEN, 'wrong'), 401],
  ])('after %s', async (_, request, status) => {
    const client = new ClientConnection(app.port);
    for (const round of [1, 2]) {
      client.socket.write(request);
      const answer = await client.next();
      const seen = { status: answer?.status, answers: client.answers.length };
      expect({ round, ...seen }).toEqual({ round, status, answers: round });
      expect(answer?.headers).not.toMatchObject({ connection: 'close' });
    }
    client.socket.destroy();
  });
});

it.each([
  ['a wrong token', writeCreateRequest('wrong', LONG), 401],
  ['a tunnel', `CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n${LONG}`, 405],
  ['what is not HTTP', `nonsense\r\n\r\n${LONG}`, 400],
])('a client that reads once it has sent all can read the refusal of %s', async (...refused) => {
  const [, request, status] = refused;
  const client = new ClientConnection(app.port);
  client.socket.pause();
  await client.write(request);
  client.socket.resume();
  expect(await client.next()).toMatchObject({ status });
  client.socket.destroy();
});
