import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { FairShare, type Holding } from '../../src/platform/limits/fair-share.js';
import { DISCARD_LIMIT } from '../../src/platform/server/send-error.js';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { holdTimeouts, resetClocks } from '../support/clock.js';
import { heapUsed } from '../support/heap-used.js';
import { ClientConnection, listAnswers } from '../support/http/connection.js';
import { LARGE, LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { listServerSockets, openSocket } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

const PIECE = 64 * 1024;

let app: TestApp;

afterEach(async () => {
  resetClocks();
  jest.restoreAllMocks();
  await app.close();
});

describe('clients that leave before the end of their bodies', () => {
  it('leave nothing that counts against the bodies of others', async () => {
    app = await TestApp.start();
    const sockets = listServerSockets(app);
    const holdings = jest.spyOn(FairShare.prototype, 'hold').mock.results;
    const head = writeCreateRequest(TOKEN).replace(
      /Content-Length: .*/s,
      'Content-Length: 100000\r\n\r\n',
    );
    for (let round = 0; round < 6; round++) {
      const clients = Array.from({ length: 220 }, () => openSocket(app.port));
      for (const client of clients) client.write(head + ' '.repeat(99_999));
      const isThere = ({ bytesRead }: Socket): boolean => bytesRead === head.length + 99_999;
      await until(() => sockets.length === clients.length && sockets.every(isThere));
      for (const client of clients) client.destroy();
      await until(() => sockets.every(({ closed }) => closed));
      sockets.length = 0;
    }
    const amounts = holdings.map(({ value }) => (value as Holding).amount);
    expect(new Set(amounts)).toEqual(new Set([0]));
    // The headers arrive with only a part of it.
    const body = `{"id":1,"name":"${'x'.repeat(90_000)}"}`;
    expect((await app.create(body)).status).toBe(200);
  });
});

it('the headers of a request count as long as its body has not arrived', async () => {
  app = await TestApp.start();
  const holdings = jest.spyOn(FairShare.prototype, 'hold').mock.results;
  const client = openSocket(app.port);
  const header = `X-Long: ${'x'.repeat(14_000)}`;
  client.write(writeCreateRequest(TOKEN).replace('\r\n', `\r\n${header}\r\n`).slice(0, -1));
  await until(() => holdings.length > 0);
  const [amount = 0] = holdings.map(({ value }) => (value as Holding).amount);
  expect(amount).toBeGreaterThan(header.length);
  client.destroy();
});

it('idle connections keep no long tokens in memory', async () => {
  app = await TestApp.start();
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
  for (const client of clients) client.reset();
});

describe('a client that sends on after an early answer', () => {
  it('loses its connection at the limit on bodies that are discarded', async () => {
    app = await TestApp.start();
    // The time limit would end the connection too.
    holdTimeouts();
    const [sockets, client] = [listServerSockets(app), openSocket(app.port).resume()];
    const head = writeCreateRequest('wrong').replace(
      /Content-Length: .*/s,
      `Content-Length: ${2 * DISCARD_LIMIT}\r\n\r\n`,
    );
    client.write(head);
    await until(() => sockets[0]?.bytesWritten !== undefined && sockets[0].bytesWritten > 0);
    client.write(Buffer.alloc(DISCARD_LIMIT + PIECE));
    await until(() => sockets[0]?.destroyed === true);
    expect(sockets[0]?.bytesRead).toBeGreaterThan(DISCARD_LIMIT);
  });

  it('leaves nothing for each further piece of malformed input', async () => {
    app = await TestApp.start();
    const [sockets, client] = [listServerSockets(app), openSocket(app.port).pause()];
    client.write(LARGE);
    await once(client, 'readable');
    let errors = 0;
    app.nest.getHttpServer().on('clientError', () => errors++);
    await until(() => {
      client.write('\u0001');
      return errors > 20;
    });
    expect(sockets[0]?.listenerCount('error')).toBeLessThan(10);
    client.destroy();
  });
});

it('the body of a read is not kept while it is handled', async () => {
  app = await TestApp.start();
  const read = jest
    .spyOn(app.nest.get(PlantsService), 'read')
    .mockReturnValue(new Promise(() => undefined));
  const requests: IncomingMessage[] = [];
  app.nest.getHttpServer().on('request', (request: IncomingMessage) => requests.push(request));
  const client = openSocket(app.port);
  client.write(
    `GET /plants/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: 60000\r\n\r\n${'x'.repeat(60_000)}`,
  );
  await until(() => read.mock.calls.length === 1 && requests[0]?.readableEnded === true);
  client.destroy();
});

describe('a client that ends its side after its request', () => {
  it('gets its answer, and the connection is closed', async () => {
    app = await TestApp.start();
    const client = openSocket(app.port);
    client.end(writeCreateRequest(TOKEN));
    let received = '';
    for await (const chunk of client) received += String(chunk);
    expect(listAnswers(received).map(({ status }) => status)).toEqual([200]);
  });
});
