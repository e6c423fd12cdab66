import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { exchange, parseAnswer } from '../support/raw-http.js';
import { TestApp, TOKEN } from '../support/test-app.js';

describe('a connection beyond MAX_CONNECTIONS', () => {
  it('is told 503 and closed, whatever it asks, while the others are served', async () => {
    const small = await TestApp.start({ MAX_CONNECTIONS: '1' });
    const request = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
    const first = connect({ port: small.port, host: '127.0.0.1' });
    first.write(request);
    await once(first, 'data');
    expect(parseAnswer(await exchange(small.port, request))).toMatchObject({
      status: 503,
      headers: { connection: 'close', 'retry-after': '1' },
      body: expect.stringContaining('50300'),
    });
    first.write(request);
    const [answer] = (await once(first, 'data')) as [Buffer];
    expect(parseAnswer(answer.toString()).status).toBe(200);
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
    const sockets = Array.from({ length: 700 }, () => {
      const socket: Socket = connect({ port: app.port, host: '127.0.0.1' });
      socket.on('error', () => undefined).write(start);
      return socket;
    });
    try {
      const [refusal] = (await Promise.race(sockets.map((s) => once(s, 'data')))) as [Buffer];
      expect(parseAnswer(refusal.toString())).toMatchObject({
        status: 503,
        body: expect.stringContaining('50300'),
      });
      const [first] = sockets as [Socket];
      // The rest of the body of one that was not refused.
      first.write('{"id":1,"name":"n"}'.padEnd(400));
      const [answer] = (await once(first, 'data')) as [Buffer];
      expect(parseAnswer(answer.toString()).status).toBe(200);

      // What a client does not finish counts until it has gone.
      sockets.forEach((socket) => socket.destroy());
      const rest = '{"id":2,"name":"n"}'.padEnd(400);
      let status: number | undefined;
      while (status !== 200) {
        const late = connect({ port: app.port, host: '127.0.0.1' });
        late.write(start, () => late.write(rest));
        status = parseAnswer(String(await once(late, 'data'))).status;
        late.destroy();
      }
    } finally {
      sockets.forEach((socket) => socket.destroy());
      await app.close();
    }
  });
});
