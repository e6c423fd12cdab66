import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ClientConnection } from '../support/http/connection.js';
import { LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { holdCreates, listServerSockets } from '../support/server-connections.js';
import { type Row, TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

let app: TestApp;

afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
});

/**
 * Sends each piece when the one before has been read. Returns the statuses of the answers, of which
 * the last ends the connection.
 */
async function sendPieces(pieces: readonly string[]): Promise<number[]> {
  const sockets = listServerSockets(app);
  const client = new ClientConnection(app.port);
  let length = 0;
  for (const piece of pieces) {
    await client.write(piece);
    length += piece.length;
    await until(() => sockets[0]?.destroyed === true || sockets[0]?.bytesRead === length);
  }
  await client.closed;
  expect(client.answers.at(-1)?.headers.connection).toBe('close');
  return client.answers.map(({ status }) => status);
}

/** Reads the plants once any request that was handled before is stored. */
async function settledRows(): Promise<Row[]> {
  expect(await app.create('{"id":-1,"name":"last"}')).toMatchObject({ status: 200 });
  return (await app.rows()).filter(({ id }) => id !== '-1');
}

describe('a request to upgrade the connection', () => {
  const UPGRADE = 'Host: a\r\nConnection: Upgrade\r\nUpgrade: h2c';
  const upgrade = LIVE.replace('Host: a', UPGRADE);
  const smuggled = writeCreateRequest(TOKEN, 'smuggled');
  /** A request with a body that is a request itself. */
  const hidingHead = `POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: ${smuggled.length}\r\n\r\n`;
  const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

  it.each<[string, string[], number[]]>([
    ['alone', [upgrade], [200]],
    ['before the head of another, whose body follows', [upgrade + hidingHead, smuggled], [200]],
    ['before another', [upgrade + smuggled], [200]],
    ['before another in the next piece', [upgrade, smuggled], [200]],
    ['after another', [LIVE + upgrade + hidingHead, smuggled], [200]],
    [
      'with a body',
      [writeCreateRequest(TOKEN).replace('Host: a', UPGRADE) + hidingHead, smuggled],
      [200],
    ],
    [
      'with a body that is refused before it has arrived',
      [writeCreateRequest('wrong').replace('Host: a', UPGRADE).slice(0, -9), smuggled],
      [401],
    ],
    [
      'without the Connection header',
      [upgrade.replace('Connection: Upgrade\r\n', ''), smuggled],
      [200],
    ],
    ['of HTTP/1.0', [upgrade.replace('1.1', '1.0') + hidingHead, smuggled], [200]],
    ['by the preface of HTTP/2', [preface + hidingHead, smuggled], [400]],
    ['by the preface of HTTP/2 after another', [LIVE + preface + smuggled], [200]],
  ])('%s gets its answer as the last of the connection', async (_, pieces, statuses) => {
    app = await TestApp.start();
    expect(await sendPieces(pieces)).toEqual(statuses);
    expect((await settledRows()).filter(({ name }) => name === 'smuggled')).toEqual([]);
  });

  it('that is being handled ends the handling of further input', async () => {
    app = await TestApp.start();
    const sockets = listServerSockets(app);
    const creates = holdCreates(app);
    const client = new ClientConnection(app.port);
    const request = writeCreateRequest(TOKEN).replace('Host: a', UPGRADE);
    await client.write(request);
    await until(() => creates.begun === 1);
    await client.write(smuggled);
    await until(() => sockets[0]?.bytesRead === request.length + smuggled.length);
    creates.release();
    await client.closed;
    expect(client.answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }]);
    expect(creates.begun).toBe(1);
  });
});

describe('a request with more than 100 headers', () => {
  const smuggled = writeCreateRequest(TOKEN, 'smuggled');
  const many = (request: string, count = 99): string =>
    request.replace('Host: a', `Host: a${'\r\nX:'.repeat(count)}`);
  /** Ends with these headers, of which Node would drop those after the thousandth. */
  const ending = (headers: string): string => many(LIVE, 1_500).replace(/\r\n$/, headers);

  it('is refused, and one with 100 is handled', async () => {
    app = await TestApp.start();
    const client = new ClientConnection(app.port);
    await client.write(many(LIVE));
    expect(await client.next()).toMatchObject({ status: 200 });
    await client.write(many(LIVE, 100));
    await client.closed;
    expect(client.answers[1]).toMatchObject({ status: 431, headers: { connection: 'close' } });
  });

  it.each<[string, string[], number[]]>([
    ['alone', [many(LIVE, 100)], [431]],
    ['before another', [many(LIVE, 100) + smuggled], [431]],
    ['before another in the next piece', [many(LIVE, 100), smuggled], [431]],
    [
      'with another as its body',
      [ending(`Content-Length: ${smuggled.length}\r\n\r\n`), smuggled],
      [431],
    ],
    [
      'with a body after the answer',
      [ending('Content-Length: 200000\r\n\r\n'), 'x'.repeat(200_000) + smuggled],
      [431],
    ],
    [
      'with an upgrade',
      [
        `${ending('Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n')}POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: ${smuggled.length}\r\n\r\n`,
        smuggled,
      ],
      [431],
    ],
    ['with an unknown expectation', [ending('Expect: 200-ok\r\n\r\n') + smuggled], [431]],
    [
      'among the first with an unknown expectation',
      [many(LIVE.replace('Host: a', 'Host: a\r\nExpect: 200-ok'), 99) + smuggled],
      [431],
    ],
  ])(
    '%s gets 431 as the last answer, and nothing behind it is handled',
    async (_, pieces, statuses) => {
      app = await TestApp.start();
      expect(await sendPieces(pieces)).toEqual(statuses);
      expect(await settledRows()).toEqual([]);
    },
  );
});

describe('an answer that ends the connection', () => {
  it.each([
    ['since the client asks for it', LIVE.replace('Host: a', 'Host: a\r\nConnection: close'), 200],
    ['since it comes before the body', writeCreateRequest('wrong', 'x'.repeat(200_000)), 401],
    [
      'since HTTP/1.0 knows no chunks',
      `${writeCreateRequest(TOKEN).split('Content-Length')[0]?.replace('HTTP/1.1', 'HTTP/1.0').replace('Host: a', 'Host: a\r\nConnection: keep-alive')}Transfer-Encoding: chunked\r\n\r\n13\r\n{"id":1,"name":"n"}\r\n0\r\n\r\n`,
      200,
    ],
    ['since the request is not whole HTTP', LIVE.replace('Host: a\r\n', ''), 400],
  ])('%s is the last: further input is not handled', async (_, request, status) => {
    app = await TestApp.start();
    const client = new ClientConnection(app.port);
    await client.write(request + writeCreateRequest(TOKEN));
    await client.closed;
    expect(client.answers).toMatchObject([{ status, headers: { connection: 'close' } }]);
    // Only the chunked request creates a plant.
    expect((await settledRows()).filter(({ id }) => id !== '1')).toEqual([]);
  });
});
