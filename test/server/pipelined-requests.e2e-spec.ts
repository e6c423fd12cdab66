import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { ClientConnection, listAnswers } from '../support/http/connection.js';
import { LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { holdCreates, listServerSockets, openSocket } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

let app: TestApp;

afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
});

describe('a request that comes before the answer to the one before it', () => {
  it.each([
    ['together with it', (first: string, second: string) => [first + second]],
    ['while it is handled', (first: string, second: string) => [first, second]],
  ])('is not handled, and the connection ends after that answer: %s', async (_, split) => {
    app = await TestApp.start();
    const [sockets, creates] = [listServerSockets(app), holdCreates(app)];
    const client = new ClientConnection(app.port);
    let length = 0;
    for (const piece of split(writeCreateRequest(TOKEN), writeCreateRequest(TOKEN))) {
      await client.write(piece);
      length += piece.length;
      await until(() => creates.begun === 1 && sockets[0]?.bytesRead === length);
    }
    creates.release();
    await client.closed;
    expect(client.answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }]);
    expect(creates.begun).toBe(1);
  });

  it.each([
    ['malformed', 'nonsense\r\n\r\n'],
    ['only the beginning of one', LIVE.slice(0, -2)],
  ])('may be %s: the answer before it is sent all the same', async (_, input) => {
    app = await TestApp.start({ HEADERS_TIMEOUT_MS: '300' });
    const client = new ClientConnection(app.port);
    await client.write(writeCreateRequest(TOKEN) + input);
    await client.closed;
    expect(client.answers[0]).toMatchObject({ status: 200 });
    expect(client.answers.slice(1).map(({ status }) => status)).toEqual(
      input === 'nonsense\r\n\r\n' ? [] : [408],
    );
  });

  it('does not cut off an answer that has begun', async () => {
    app = await TestApp.start();
    const name = 'x'.repeat(40 * 1024 * 1024);
    jest.spyOn(app.nest.get(PlantsService), 'create').mockResolvedValue({ name });
    const sockets = listServerSockets(app);
    const client = openSocket(app.port).pause();
    client.write(writeCreateRequest(TOKEN));
    // The system takes no more of the answer.
    await until(() => sockets.some(({ writableLength }) => writableLength > 0));
    client.write(LIVE);
    const chunks: Buffer[] = [];
    for await (const chunk of client) chunks.push(chunk as Buffer);
    const [answer, ...others] = listAnswers(String(Buffer.concat(chunks)));
    expect(answer).toMatchObject({ status: 200, body: `{"name":"${name}"}` });
    expect(others).toEqual([]);
  });
});

const KINDS = [
  ['of health', LIVE],
  ['for an unknown path', 'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['for a plant', 'GET /plants/1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['for the head of a document', 'HEAD /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'],
] as const;

describe('twenty connections that send requests without a token as fast as they can', () => {
  it.each(KINDS)('let the event loop go on: requests %s', async (_, request) => {
    app = await TestApp.start();
    const piece = request.repeat(Math.ceil(65_536 / request.length));
    const floods = Array.from({ length: 20 }, () => new ClientConnection(app.port));
    await Promise.all(floods.map((flood) => flood.opened));
    const honest = new ClientConnection(app.port);
    await honest.opened;
    for (const flood of floods) void flood.write(piece.repeat(4));
    await honest.write(writeCreateRequest(TOKEN));
    expect(await honest.next()).toMatchObject({ status: 200 });
    const answered = floods.reduce((sum, { answers }) => sum + answers.length, 0);
    const all = (floods.length * 4 * piece.length) / request.length;
    expect(answered).toBeLessThan(all / 50);
    for (const flood of floods) flood.reset();
    honest.reset();
  });
});
