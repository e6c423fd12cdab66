import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Module, Post, UploadedFile, UseInterceptors } from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { ApiError, ErrorCatalogue } from 'durable-rest';
import {
  holdTimeouts,
  passSeconds,
  resetClocks,
  stopClock,
  TOKEN,
  until,
} from 'durable-rest/testing';
import { PlantsRepository, PlantsService } from '../fixtures/plants.module.js';
import { heapUsed } from '../support/heap-used.js';
import { listAnswers } from '../support/http/answer.js';
import { ClientConnection, exchange, openSocket } from '../support/http/connection.js';
import { LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { listServerSockets, sendPieces } from '../support/server-connections.js';
import { TestApp } from '../support/fixture-app.js';

const LIVE_ONCE = LIVE.replace('Host: a', 'Host: a\r\nConnection: close');

const app = TestApp.forAll();

afterEach(() => {
  resetClocks();
  jest.restoreAllMocks();
});

/**
 * Sends each piece when the one before has been read. Returns the statuses of the answers, of which
 * the last ends the connection.
 */
async function listStatuses(pieces: readonly string[]): Promise<number[]> {
  const client = await sendPieces(app, pieces);
  await client.closed;
  expect(client.answers.at(-1)?.headers.connection).toBe('close');
  return client.answers.map(({ status }) => status);
}

describe('an answer that ends the connection', () => {
  const smuggled = writeCreateRequest(TOKEN, 'smuggled');
  const upgrade = LIVE.replace('Host: a', 'Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c');
  const unauthorized = writeCreateRequest('wrong', 'x'.repeat(200_000));
  const many = LIVE.replace('Host: a', `Host: a${'\r\nX:'.repeat(100)}`);
  /** Node drops the headers after the thousandth. */
  const body = `${'\r\nX:'.repeat(1_500)}\r\nContent-Length: ${smuggled.length}`;

  it.each<[string, string[], number]>([
    ['the request before it is handled', [LIVE + smuggled], 200],
    ['the client asks for that', [LIVE_ONCE + smuggled], 200],
    ['the client asks for an upgrade', [upgrade, smuggled], 200],
    ['it comes before the body', [unauthorized + smuggled], 401],
    ['the request is malformed', [LIVE.replace('Host: a\r\n', '') + smuggled], 400],
    ['the request has more than 100 headers', [many, smuggled], 431],
    [
      'the request has a body behind 1,000 headers',
      [LIVE.replace('a\r', `a${body}\r`), smuggled],
      431,
    ],
  ])('is the last, and nothing behind it is handled: %s', async (_, pieces, status) => {
    expect(await listStatuses(pieces)).toEqual([status]);
    expect(await app.create('{"id":-1,"name":"last"}')).toMatchObject({ status: 200 });
    expect(await app.rows()).toMatchObject([{ id: '-1' }]);
    await app.delete('/plants/-1');
  });
});

describe('a request that comes before the answer to the one before it', () => {
  it('is not handled, and the connection ends after that answer', async () => {
    const sockets = listServerSockets(app);
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const create = jest.spyOn(app.nest.get(PlantsService), 'create');
    create.mockImplementation(() => held.then(() => ({ name: 'held' })));
    const client = new ClientConnection(app.port);
    const [first, second] = [writeCreateRequest(TOKEN), writeCreateRequest(TOKEN)];
    await client.write(first);
    await until(() => create.mock.calls.length === 1);
    await client.write(second);
    await until(() => sockets[0]?.bytesRead === first.length + second.length);
    release();
    await client.closed;
    expect(client.answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }]);
    expect(create).toHaveBeenCalledTimes(1);
  });

  it('is handled when its client has the whole answer, although Node does not know yet', async () => {
    const sockets = listServerSockets(app);
    const client = new ClientConnection(app.port);
    await until(() => sockets.length === 1);
    const [socket] = sockets as [Socket];
    const write = socket._writev?.bind(socket);
    // Node learns that the system sent the answer once the next request has arrived.
    jest.spyOn(socket, '_writev').mockImplementationOnce((chunks, finish) => {
      const learn = (): unknown => process.nextTick(finish);
      write?.(chunks, () => app.nest.getHttpServer().prependOnceListener('request', learn));
    });
    await client.write(LIVE);
    expect(await client.next()).toMatchObject({ status: 200 });
    await client.write(LIVE);
    expect(await client.next()).toMatchObject({ status: 200 });
    client.socket.resetAndDestroy();
  });

  it.each([
    ['malformed', 'nonsense\r\n\r\n', []],
    ['only the beginning of one', LIVE.slice(0, -2), [408]],
  ])('may be %s: the answer before it is sent all the same', async (_, input, others) => {
    const impatient = await TestApp.start();
    const client = new ClientConnection(impatient.port);
    await client.write(LIVE + input);
    await client.next();
    // However slow this machine is, the time for the second request ends only now.
    impatient.nest.getHttpServer().headersTimeout = 1;
    await client.closed;
    expect(client.answers.map(({ status }) => status)).toEqual([200, ...others]);
    await impatient.close();
  });

  it('does not cut off an answer that has begun', async () => {
    const name = 'x'.repeat(16 * 1024 * 1024);
    jest.spyOn(app.nest.get(PlantsService), 'create').mockResolvedValue({ name });
    const sockets = listServerSockets(app);
    const client = openSocket(app.port).pause();
    client.write(writeCreateRequest(TOKEN));
    // The system takes no more of the answer.
    await until(() => sockets.some(({ writableLength }) => writableLength > 0));
    client.write(LIVE);
    const [answer, ...others] = listAnswers(await buffer(client));
    expect(answer).toMatchObject({ status: 200, body: `{"name":"${name}"}` });
    expect(others).toEqual([]);
  });
});

it('idle connections keep no long tokens in memory', async () => {
  const length = 15_000;
  const head = `GET /plants/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${'x'.repeat(length)}\r\n\r\n`;
  const clients = Array.from({ length: 300 }, () => new ClientConnection(app.port));
  const askAll = async (request: string): Promise<void> => {
    await Promise.all(clients.map((client) => client.write(request)));
    await Promise.all(clients.map((client) => client.next()));
  };
  await askAll(LIVE);
  const before = heapUsed();
  await askAll(head);
  expect(heapUsed() - before).toBeLessThan((clients.length * length) / 2);
  for (const client of clients) client.socket.resetAndDestroy();
});

it('connections beyond MAX_CONNECTIONS get 503, until one that reads nothing has lost its place', async () => {
  const small = await TestApp.start({ MAX_CONNECTIONS: '2', SEND_TIMEOUT_MS: '3600000' });
  // A body that the system can buffer only in part.
  const name = 'x'.repeat(16 * 1024 * 1024);
  jest.spyOn(small.nest.get(PlantsService), 'create').mockResolvedValue({ name });
  const sockets = listServerSockets(small);
  const silent = Array.from({ length: 2 }, () => openSocket(small.port).pause());
  await until(() => sockets.length === silent.length);
  const page = `GET /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`;
  expect(await exchange(small.port, page)).toMatchObject([
    {
      status: 503,
      headers: { connection: 'close', 'retry-after': '1' },
      body: '{"error":50300,"message":"Too many connections are open"}',
    },
  ]);
  // A failed probe would restart the program.
  expect(await exchange(small.port, LIVE)).toMatchObject([
    { status: 200, headers: { connection: 'close' } },
  ]);
  for (const client of silent) client.write(writeCreateRequest(TOKEN));
  const unread = sockets.slice(0, silent.length);
  await until(() => unread.every(({ writableLength }) => writableLength > 0));
  // However slow this machine is, their time ends only now.
  const closed = unread.map((socket) => once(socket, 'close'));
  for (const socket of unread) {
    expect(socket.timeout).toBe(3_600_000);
    socket.setTimeout(1);
  }
  await Promise.all(closed);
  expect(await exchange(small.port, page)).toMatchObject([{ status: 200 }]);
  for (const client of silent) client.destroy();
  await small.close();
});

@Controller('uploads')
class UploadsController {
  @Post()
  @UseInterceptors(FileInterceptor('file'))
  upload(@UploadedFile() { size }: { readonly size: number }): object {
    return { size };
  }
}

@Module({ controllers: [UploadsController] })
class UploadsModule {}

it('an upload that a module reads gets 408 if its client stands still', async () => {
  const reading = await TestApp.start({ SEND_TIMEOUT_MS: '1000' }, UploadsModule);
  const part =
    '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n--b--';
  const head = `POST /uploads HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${part.length}\r\n\r\n`;
  const whole = new ClientConnection(reading.port);
  await whole.write(head + part);
  expect(await whole.next()).toMatchObject({ status: 201, body: '{"size":3}' });
  const half = new ClientConnection(reading.port);
  await half.write(head + part.slice(0, 20));
  expect(await half.next()).toMatchObject({ status: 408, headers: { connection: 'close' } });
  for (const { socket } of [whole, half]) socket.destroy();
  await reading.close();
});

it('a stop refuses requests of which only a part has arrived', async () => {
  const stopping = await TestApp.start({ SHUTDOWN_GRACE_MS: '0' });
  const sockets = listServerSockets(stopping);
  const request = writeCreateRequest(TOKEN);
  const halves = ['POST /plants HTTP/1.1\r\nHost:', request.slice(0, -1)];
  const clients = halves.map(() => new ClientConnection(stopping.port));
  for (const [index, client] of clients.entries()) await client.write(halves[index] ?? '');
  await until(() => sockets.length === halves.length);
  await until(() => sockets.every(({ bytesRead }, index) => bytesRead === halves[index]?.length));
  const idle = new ClientConnection(stopping.port);
  await idle.write(LIVE);
  await idle.next();
  const closed = stopping.nest.close();
  const [head, body] = clients;
  expect(await head?.next()).toMatchObject({ status: 503, headers: { connection: 'close' } });
  expect(await body?.next()).toMatchObject({ status: 503, headers: { connection: 'close' } });
  for (const client of clients) client.socket.end();
  await Promise.all([idle.closed, closed]);
  expect(idle.answers).toHaveLength(1);
  await stopping.close();
});

it('a stop sends an answer that comes due at its end', async () => {
  const stopping = await TestApp.start({ SHUTDOWN_GRACE_MS: '0' });
  let fail: (error: unknown) => void = () => undefined;
  const create = jest.spyOn(stopping.nest.get(PlantsService), 'create');
  create.mockImplementation(() => new Promise((_, reject) => (fail = reject)));
  const client = new ClientConnection(stopping.port);
  await client.write(writeCreateRequest(TOKEN));
  await until(() => create.mock.calls.length === 1);
  // The test decides when the stop looks for connections to close.
  const { setInterval: original } = globalThis;
  const looks: (() => void)[] = [];
  globalThis.setInterval = ((look: () => void) => void looks.push(look)) as never;
  const closed = stopping.nest.close();
  await until(() => looks.length > 0).finally(() => (globalThis.setInterval = original));
  passSeconds(60);
  for (const look of looks) look();
  fail(new ApiError(ErrorCatalogue.UNAVAILABLE));
  expect(await client.next()).toMatchObject({ status: 503, headers: { connection: 'close' } });
  await closed;
  await stopping.close();
});

it('many clients that do not read their exports keep no long page from others', async () => {
  // However slow this machine is, nothing waits too long for its turn or its client.
  stopClock();
  holdTimeouts();
  const name = 'x'.repeat(100_000);
  const plants = Array.from({ length: 100 }, (_, id) => ({ id: String(id), name, tag: null }));
  await app.nest.get(PlantsRepository).createAll(plants);
  const sockets = listServerSockets(app);
  const silent = Array.from({ length: 40 }, () => openSocket(app.port).pause());
  const head = `GET /plants HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
  for (const socket of silent) socket.write(head);
  await until(() => sockets.length === silent.length);
  await until(() => sockets.every(({ writableLength }) => writableLength > 0));
  expect(await app.get('/plants')).toMatchObject({ status: 200 });
  for (const socket of silent) socket.destroy();
});
