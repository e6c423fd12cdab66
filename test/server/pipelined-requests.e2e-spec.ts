import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Holding } from '../../src/platform/limits/fair-share.js';
import { WAITING_LIMIT } from '../../src/platform/server/pipelined-requests.js';
import { ClientConnection, exchange } from '../support/http/connection.js';
import { LARGE, LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { holdCreates, listServerSockets, openSocket } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

/** More than 1,500 of them arrive in one piece. */
const TINY = 'GET /health/live HTTP/1.1\r\nHost:\r\n\r\n';
const PIECE = 64 * 1024;
const OTHER_TOKEN = 'another-token-of-another-client';

let app: TestApp;

afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
});

function openDescriptors(): number {
  return readdirSync('/dev/fd').length;
}

describe('pipelined requests', () => {
  it('are all answered, in their order', async () => {
    app = await TestApp.start();
    const client = new ClientConnection(app.port);
    const ids = Array.from({ length: 300 }, (_, index) => `request-${index}`);
    const requests = ids.map((id, index) =>
      (index % 2 === 0 ? writeCreateRequest(TOKEN) : LIVE).replace(
        'Host',
        `X-Request-Id: ${id}\r\nHost`,
      ),
    );
    await client.write(requests.join(''));
    await until(() => client.answers.length === ids.length);
    expect(client.answers.map(({ headers }) => headers['x-request-id'])).toEqual(ids);
    expect(new Set(client.answers.map(({ status }) => status))).toEqual(new Set([200]));
    client.reset();
  });

  it('are handled one at a time, and those of other connections beside them', async () => {
    app = await TestApp.start();
    const creates = holdCreates(app);
    const [one, other] = [new ClientConnection(app.port), new ClientConnection(app.port)];
    for (const client of [one, other]) await client.write(writeCreateRequest(TOKEN).repeat(3));
    await until(() => creates.begun === 2);
    await other.write(LIVE);
    expect(await exchange(app.port, LIVE, (text) => text.endsWith('}'))).toContain('200 OK');
    expect(creates.begun).toBe(2);
    creates.release();
    await until(() => one.answers.length === 3 && other.answers.length === 4);
    one.reset();
    other.reset();
  });

  it.each([
    ['small', () => writeCreateRequest(TOKEN)],
    ['with bodies of 20 KiB', () => writeCreateRequest(TOKEN, 'x'.repeat(20_000))],
  ])('are read piece by piece, as they are handled: %s', async (_, request) => {
    app = await TestApp.start();
    const sockets = listServerSockets(app);
    const creates = holdCreates(app);
    const client = openSocket(app.port);
    client.resume();
    const bytes = Buffer.from(request().repeat(Math.ceil((8 * PIECE) / request().length)));
    // Pieces of many sizes, which end anywhere in a request.
    for (let start = 0; start < bytes.length;) {
      const end = start + 1_000 + ((start * 7_919) % 60_000);
      client.write(bytes.subarray(start, end));
      start = end;
    }
    await until(() => creates.begun === 1);
    // Each turn of the event loop could read a piece.
    for (let turn = 0; turn < 100; turn++) await nextTurn();
    expect(creates.begun).toBe(1);
    expect(sockets[0]?.bytesRead).toBeLessThan(4 * PIECE);
    creates.release();
    await until(() => sockets[0]?.bytesRead === bytes.length);
    client.destroy();
  });

  it('leave nothing open when their client leaves without reading', async () => {
    app = await TestApp.start();
    const sockets = listServerSockets(app);
    await fetch(`${app.url.origin}/docs/swagger-ui-bundle.js`, {
      headers: { Connection: 'close' },
    });
    const before = openDescriptors();
    const clients = Array.from({ length: 5 }, () => openSocket(app.port).pause());
    for (const client of clients) client.write(LARGE.repeat(1_000));
    await until(() => sockets.filter(({ writableLength }) => writableLength > 0).length === 5);
    // Only the two ends of their connections are open.
    expect(openDescriptors()).toBeLessThanOrEqual(before + 2 * clients.length + 10);
    for (const client of clients) client.resetAndDestroy();
    await until(() => sockets.every(({ closed }) => closed));
    expect(openDescriptors()).toBeLessThanOrEqual(before);
  });

  it('are forgotten when their connection ends', async () => {
    app = await TestApp.start();
    const sockets = listServerSockets(app);
    const creates = holdCreates(app);
    const client = openSocket(app.port);
    client.write(writeCreateRequest(TOKEN).repeat(3));
    await until(() => creates.begun === 1);
    client.resetAndDestroy();
    sockets[0]?.destroy();
    creates.release();
    expect(await exchange(app.port, LIVE, (text) => text.endsWith('}'))).toContain('200 OK');
    expect(creates.begun).toBe(1);
  });

  it.each([
    ['another address', TOKEN, '127.0.0.2'],
    ['another token', OTHER_TOKEN, '127.0.0.1'],
  ])(
    `beyond ${WAITING_LIMIT} on all connections cost %s no connection`,
    async (_, token, address) => {
      app = await TestApp.start({ ACCESS_TOKENS: `${TOKEN},${OTHER_TOKEN}` });
      const sockets = listServerSockets(app);
      const creates = holdCreates(app);
      const modest = new ClientConnection(app.port, '127.0.0.1', address);
      await modest.write(writeCreateRequest(token));
      await until(() => creates.begun === 1);
      // More than each of the others sends.
      await modest.write(TINY.repeat(1_700));
      const floods = Array.from({ length: 45 }, () => openSocket(app.port));
      for (const flood of floods) flood.write(writeCreateRequest(TOKEN));
      await until(() => creates.begun === 1 + floods.length);
      for (const flood of floods) flood.write(TINY.repeat(600));
      const closed = (): number => sockets.filter(({ destroyed }) => destroyed).length;
      await until(() => closed() > 0);
      creates.release();
      await until(() => !modest.isOpen || modest.answers.length === 1_701);
      expect(modest.answers).toHaveLength(1_701);
      expect(closed()).toBeLessThan(floods.length);
      for (const flood of floods) flood.destroy();
      modest.reset();
    },
  );

  it('count by their bytes too', async () => {
    app = await TestApp.start();
    const creates = holdCreates(app);
    const counts = jest.spyOn(Holding.prototype, 'update');
    const client = new ClientConnection(app.port);
    // The headers arrive together with most of the body.
    await client.write(writeCreateRequest(TOKEN) + writeCreateRequest(TOKEN, 'x'.repeat(60_000)));
    await until(() => creates.begun === 1 && counts.mock.calls.length > 0);
    expect(counts.mock.calls).toEqual([[expect.closeTo(1 + 60_000 / 4_096, 0)]]);
    creates.release();
    client.reset();
  });
});
