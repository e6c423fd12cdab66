import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Request } from 'express';
import type { Socket } from 'node:net';
import { PlantsRepository } from '../../src/modules/plants/plants.repository.js';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { PIECE_BYTES } from '../../src/platform/database/batching/read-rows.js';
import { Turns } from '../../src/platform/requests/concurrent-requests.js';
import { Connections } from '../../src/platform/server/connections.js';
import { countQueuedBytes, countSentBytes } from '../../src/platform/server/node-internals.js';
import { holdTimeouts, passSeconds, resetClocks, stopClock } from '../support/clock.js';
import { heapUsed } from '../support/heap-used.js';
import { exchange, listAnswers } from '../support/http/connection.js';
import { LARGE, LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { listServerSockets, openSocket } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

let app: TestApp;

afterEach(async () => {
  resetClocks();
  jest.restoreAllMocks();
  await app.close();
});

/** Does what the server does each second. */
function checkReading(socket: Socket): void {
  app.nest.get(Connections).get(socket).sendTimeout.checkReading();
}

/** Resolves once 1 MiB of the pending data has been received. */
async function readSome(client: Socket): Promise<void> {
  let received = 0;
  await new Promise<void>((resolve) => {
    const take = (chunk: Buffer): void => {
      received += chunk.length;
      if (received < 1024 * 1024) return;
      client.off('data', take).pause();
      resolve();
    };
    client.on('data', take).resume();
  });
}

describe('a client that does not read', () => {
  const SEND_TIMEOUT_MS = '10000';

  it('loses its connection after SEND_TIMEOUT_MS, so that others find a place', async () => {
    app = await TestApp.start({ MAX_CONNECTIONS: '20', SEND_TIMEOUT_MS });
    const sockets = listServerSockets(app);
    const clients = Array.from({ length: 20 }, () => openSocket(app.port).pause());
    stopClock();
    for (const client of clients) client.write(LARGE.repeat(20));
    const ask = (): Promise<string> => exchange(app.port, LIVE, (text) => text.endsWith('}'));
    expect(listAnswers(await ask())).toMatchObject([{ status: 503 }]);
    const silent = sockets.slice(0, clients.length);
    await until(() => silent.every((socket) => countQueuedBytes(socket) > 0));
    // The first of these shows nothing, since bytes have been sent since the one before.
    for (let second = 0; second < 10; second++) {
      for (const socket of silent) checkReading(socket);
      passSeconds(1);
    }
    expect(silent.filter(({ destroyed }) => destroyed)).toEqual([]);
    for (let second = 0; second < 2; second++) {
      for (const socket of silent) if (!socket.destroyed) checkReading(socket);
      passSeconds(1);
    }
    expect(silent.filter(({ destroyed }) => !destroyed)).toEqual([]);
    await until(() => silent.every(({ closed }) => closed));
    expect(listAnswers(await ask())).toMatchObject([{ status: 200 }]);
    for (const client of clients) client.destroy();
  });

  it('loses its connection though it goes on sending', async () => {
    app = await TestApp.start({ SEND_TIMEOUT_MS: '1000' });
    const sockets = listServerSockets(app);
    const client = openSocket(app.port).pause();
    client.write(LARGE.repeat(20));
    await until(() => sockets.some((one) => countQueuedBytes(one) > 0));
    await until(() => {
      client.write('\r\n');
      return sockets.every(({ destroyed }) => destroyed);
    });
    client.destroy();
  });

  // One answer and several, of which the system can buffer only a part.
  const name = 'x'.repeat(40 * 1024 * 1024);
  it.each([
    ['one large answer', writeCreateRequest(TOKEN)],
    ['many answers', LARGE.repeat(100)],
  ])('keeps its connection while it reads, however slowly: %s', async (_, requests) => {
    app = await TestApp.start({ SEND_TIMEOUT_MS });
    jest.spyOn(app.nest.get(PlantsService), 'create').mockResolvedValue({ name });
    const sockets = listServerSockets(app);
    const client = openSocket(app.port).pause();
    stopClock();
    client.write(requests);
    await until(() => sockets.some((one) => countQueuedBytes(one) > 0));
    const [socket] = sockets as [Socket];
    for (let round = 0; round < 4; round++) {
      const before = countSentBytes(socket);
      // The system sends on only when much has been read.
      do await readSome(client);
      while (countSentBytes(socket) === before);
      await until(() => countQueuedBytes(socket) > 0);
      passSeconds(9);
      checkReading(socket);
      expect(socket.destroyed).toBe(false);
    }
    client.destroy();
  });
});

it('many clients that do not read their long pages keep no long page from others', async () => {
  app = await TestApp.start();
  const name = 'x'.repeat(100_000);
  const plants = Array.from({ length: 100 }, (_, id) => ({ id: String(id), name, tag: null }));
  await app.nest.get(PlantsRepository).createAll(plants);
  // However slow this machine is, no page waits too long for its turn or its client.
  holdTimeouts();
  stopClock();
  const sockets = listServerSockets(app);
  const silent = Array.from({ length: 40 }, () => openSocket(app.port).pause());
  const head = `GET /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
  for (const socket of silent) socket.write(head);
  await until(() => sockets.length === silent.length);
  await until(() => sockets.every((socket) => countQueuedBytes(socket) > 0));
  for (let count = 0; count < 3; count++) {
    expect(await app.get('/plants')).toMatchObject({ status: 200 });
  }
  for (const socket of silent) socket.destroy();
});

it('exports that wait for their turn to read on keep no piece in memory', async () => {
  app = await TestApp.start();
  const name = 'x'.repeat(100_000);
  const plants = Array.from({ length: 10 }, (_, id) => ({ id: String(id), name, tag: null }));
  await app.nest.get(PlantsRepository).createAll(plants);
  const turns = holdSecondPieces();
  // However slow this machine is, no export waits too long for its first turns.
  holdTimeouts();
  stopClock();
  const head = `GET /plants HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
  const before = heapUsed();
  const clients = Array.from({ length: 100 }, () => openSocket(app.port).resume());
  for (const client of clients) client.write(head);
  await until(() => turns.waiting === clients.length);
  expect(heapUsed() - before).toBeLessThan((clients.length * PIECE_BYTES) / 2);
  for (const client of clients) client.destroy();
  turns.release();
});

/** Holds the second piece of each export. The handler takes the first turn. */
function holdSecondPieces(): { waiting: number; readonly release: () => void } {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const held = { waiting: 0, release };
  const taken = new Map<Request, number>();
  const take = Turns.ofPages.take.bind(Turns.ofPages);
  jest.spyOn(Turns.ofPages, 'take').mockImplementation((request, response) => {
    const count = (taken.get(request) ?? 0) + 1;
    taken.set(request, count);
    if (count < 3) return take(request, response);
    held.waiting++;
    return released;
  });
  return held;
}
