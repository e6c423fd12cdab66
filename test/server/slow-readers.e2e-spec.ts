import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Request } from 'express';
import { PlantsRepository } from '../../src/modules/plants/plants.repository.js';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { PIECE_BYTES } from '../../src/platform/database/batching/read-rows.js';
import { Turns } from '../../src/platform/requests/turns.js';
import { holdTimeouts, resetClocks, stopClock } from '../support/clock.js';
import { heapUsed } from '../support/heap-used.js';
import { exchange, listAnswers } from '../support/http/connection.js';
import { LIVE, writeCreateRequest } from '../support/plant-requests.js';
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

/** A body that the system can buffer only in part. */
const LONG = 'x'.repeat(40 * 1024 * 1024);

describe('a client that does not read', () => {
  it('loses its connection after SEND_TIMEOUT_MS, so that others find a place', async () => {
    app = await TestApp.start({ MAX_CONNECTIONS: '5', SEND_TIMEOUT_MS: '1000' });
    jest.spyOn(app.nest.get(PlantsService), 'create').mockResolvedValue({ name: LONG });
    const sockets = listServerSockets(app);
    const silent = Array.from({ length: 5 }, () => openSocket(app.port).pause());
    await until(() => sockets.length === silent.length);
    const ask = (): Promise<string> => exchange(app.port, LIVE, (text) => text.endsWith('}'));
    expect(listAnswers(await ask())).toMatchObject([{ status: 503 }]);
    for (const client of silent) client.write(writeCreateRequest(TOKEN));
    await until(() => sockets.every(({ closed }) => closed));
    expect(listAnswers(await ask())).toMatchObject([{ status: 200 }]);
    for (const client of silent) client.destroy();
  });
});

it('many clients that do not read their exports keep no long page from others', async () => {
  app = await TestApp.start();
  const name = 'x'.repeat(100_000);
  const plants = Array.from({ length: 100 }, (_, id) => ({ id: String(id), name, tag: null }));
  await app.nest.get(PlantsRepository).createAll(plants);
  // However slow this machine is, no page waits too long for its turn or its client.
  holdTimeouts();
  stopClock();
  const sockets = listServerSockets(app);
  const silent = Array.from({ length: 40 }, () => openSocket(app.port).pause());
  const head = `GET /plants HTTP/1.1\r\nHost: a\r\nAccept: application/x-ndjson\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`;
  for (const socket of silent) socket.write(head);
  await until(() => sockets.length === silent.length);
  await until(() => sockets.every(({ writableLength }) => writableLength > 0));
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
