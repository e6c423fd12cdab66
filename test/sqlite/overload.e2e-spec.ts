import { describe, expect, it } from '@jest/globals';
import { answersIn, ClientConnection, exchange } from '../support/http/connection.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

describe('a connection beyond MAX_CONNECTIONS', () => {
  it('is told 503 and closed, whatever it asks, while the others are served', async () => {
    const small = await TestApp.start({ MAX_CONNECTIONS: '1' });
    const request = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
    const first = new ClientConnection(small.port);
    await first.write(request);
    expect(await first.next()).toMatchObject({ status: 200 });
    expect(answersIn(await exchange(small.port, request))).toMatchObject([
      {
        status: 503,
        headers: { connection: 'close', 'retry-after': '1' },
        body: expect.stringContaining('50300'),
      },
    ]);
    await first.write(request);
    expect(await first.next()).toMatchObject({ status: 200 });
    first.destroy();
    await small.close();
  });
});

describe('bodies that arrive piece by piece', () => {
  it('beyond 64 MiB together are refused with 503, and those that end are served', async () => {
    const app = await TestApp.start();
    const lines = [
      'POST /plants HTTP/1.1',
      'Host: a',
      `Authorization: Bearer ${TOKEN}`,
      'Content-Type: application/json',
      'Content-Length: 102400',
    ];
    const start = `${lines.join('\r\n')}\r\n\r\n${' '.repeat(102_000)}`;
    const clients = Array.from({ length: 700 }, () => new ClientConnection(app.port));
    try {
      const answers = clients.map((client) => client.next());
      for (const client of clients) void client.write(start);
      expect(await Promise.race(answers)).toMatchObject({
        status: 503,
        body: expect.stringContaining('50300'),
      });
      // The rest of the body of one that was not refused.
      await clients[0]?.write('{"id":1,"name":"n"}'.padEnd(400));
      expect(await answers[0]).toMatchObject({ status: 200 });

      // What a client does not finish counts until it has gone.
      clients.forEach((client) => client.destroy());
      const rest = '{"id":2,"name":"n"}'.padEnd(400);
      let status: number | undefined;
      while (status !== 200) {
        const late = new ClientConnection(app.port);
        await late.write(start + rest);
        status = (await late.next())?.status;
        late.destroy();
      }
    } finally {
      clients.forEach((client) => client.destroy());
      await app.close();
    }
  });
});
