import { describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { listAnswers, ClientConnection, exchange } from '../support/http/connection.js';
import { LIVE } from '../support/plant-requests.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

const OTHER_TOKEN = 'another-token-of-another-client';

describe('a connection beyond MAX_CONNECTIONS', () => {
  it('gets 503 and is closed, while the others are served', async () => {
    const small = await TestApp.start({ MAX_CONNECTIONS: '1' });
    const first = new ClientConnection(small.port);
    await first.write(LIVE);
    expect(await first.next()).toMatchObject({ status: 200 });
    expect(listAnswers(await exchange(small.port, LIVE))).toMatchObject([
      {
        status: 503,
        headers: { connection: 'close', 'retry-after': '1' },
        body: expect.stringContaining('50300'),
      },
    ]);
    await first.write(LIVE);
    expect(await first.next()).toMatchObject({ status: 200 });
    first.destroy();
    await small.close();
  });
});

/** The start of a request to create a plant, and all of its body but the end. */
function startOfCreate(token: string): string {
  const lines = [
    'POST /plants HTTP/1.1',
    'Host: a',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    'Content-Length: 102400',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${' '.repeat(102_000)}`;
}

describe('bodies that arrive piece by piece', () => {
  it('beyond 64 MiB in all, the client with most of them loses some', async () => {
    const app = await TestApp.start({
      ACCESS_TOKENS: `${TOKEN},${OTHER_TOKEN}`,
      MAX_CONNECTIONS: '',
    });
    const clients = Array.from({ length: 700 }, () => new ClientConnection(app.port));
    const other = new ClientConnection(app.port);
    try {
      await other.write(startOfCreate(OTHER_TOKEN));
      const answers = clients.map((client) => client.next());
      for (const client of clients) void client.write(startOfCreate(TOKEN));
      expect(await Promise.race(answers)).toMatchObject({
        status: 503,
        body: expect.stringContaining('50300'),
      });
      await other.write('{"id":1,"name":"n"}'.padEnd(400));
      expect(await other.next()).toMatchObject({ status: 200 });

      // Unfinished lines of a client count until it disconnects.
      clients.forEach((client) => client.destroy());
      const late = new ClientConnection(app.port);
      await late.write(startOfCreate(TOKEN) + '{"id":2,"name":"n"}'.padEnd(400));
      expect(await late.next()).toMatchObject({ status: 200 });
      late.destroy();
    } finally {
      [...clients, other].forEach((client) => client.destroy());
      await app.close();
    }
  });
});

describe('bodies in chunks of one byte', () => {
  it('are read whole', async () => {
    const app = await TestApp.start();
    const head = startOfCreate(TOKEN).replace(
      /Content-Length.*/s,
      'Transfer-Encoding: chunked\r\n\r\n',
    );
    const body = (id: number): string => `{"id":${id},"name":"n"}`.padStart(40_000);
    const clients = [1, 2, 3].map((id) => {
      const client = new ClientConnection(app.port);
      const chunks = [...body(id)].map((byte) => `1\r\n${byte}\r\n`);
      void client.write(`${head}${chunks.join('')}0\r\n\r\n`);
      return client;
    });
    try {
      for (let id = 11; id <= 20; id++) {
        expect((await app.create(`{"id":${id},"name":"n"}`)).status).toBe(200);
      }
      for (const client of clients) expect(await client.next()).toMatchObject({ status: 200 });
    } finally {
      clients.forEach((client) => client.destroy());
      await app.close();
    }
  });
});

describe('plants of 100 KB', () => {
  const LENGTH = 100_000;

  async function createLongPlants(app: TestApp, count: number): Promise<void> {
    for (let id = 1; id <= count; id++) {
      const { status } = await app.create(`{"id":${id},"name":"${'x'.repeat(LENGTH)}"}`);
      expect(status).toBe(200);
    }
  }

  it('are on pages of 1 MiB, and a plant by its id waits for no page', async () => {
    const app = await TestApp.start();
    try {
      await createLongPlants(app, 12);
      const first = await app.get('/plants');
      expect(first.text.length).toBeLessThanOrEqual(1024 * 1024);
      expect(first.headers.get('link')).toContain('rel="next"');

      const page = await app.nest.get<StoreDataSource>(DataSource).pageReaders.acquire();
      const pages = Array.from({ length: 6 }, () => app.get('/plants'));
      expect((await app.get('/plants/1')).status).toBe(200);
      await page.release(false);
      for (const { status } of await Promise.all(pages)) expect(status).toBe(200);
    } finally {
      await app.close();
    }
  });
});
