import { describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { StoreDataSource } from '../../src/platform/database/data-source/store-data-source.js';
import { listAnswers, ClientConnection, exchange } from '../support/http/connection.js';
import { LIVE } from '../support/plant-requests.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

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

describe('bodies in chunks of one byte', () => {
  it('end their connections, while others are served', async () => {
    const app = await TestApp.start();
    const head = `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const clients = Array.from({ length: 3 }, () => new ClientConnection(app.port));
    try {
      for (const client of clients) void client.write(head + '1\r\n \r\n'.repeat(40_000));
      for (let id = 1; id <= 10; id++) {
        expect((await app.create(`{"id":${id},"name":"n"}`)).status).toBe(200);
      }
      for (const client of clients) await client.closed;
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

      const page = await app.nest.get<StoreDataSource>(DataSource).pools.pageReaders.acquire();
      const pages = Array.from({ length: 6 }, () => app.get('/plants'));
      expect((await app.get('/plants/1')).status).toBe(200);
      await page.release(false);
      for (const { status } of await Promise.all(pages)) expect(status).toBe(200);
    } finally {
      await app.close();
    }
  });
});
