import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { holdTimeouts, resetClocks } from '../support/clock.js';
import { ClientConnection } from '../support/http/connection.js';
import { LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { holdCreates } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

let app: TestApp;

afterEach(async () => {
  resetClocks();
  jest.restoreAllMocks();
  await app.close();
});

describe('requests that have arrived only in part while others waited', () => {
  const [begin, end] = [LIVE.slice(0, -2), LIVE.slice(-2)];
  const large = writeCreateRequest(TOKEN, 'x'.repeat(20_000));

  async function startAndWrite(text: string): Promise<[ClientConnection, () => void]> {
    app = await TestApp.start({ HEADERS_TIMEOUT_MS: '500', REQUEST_TIMEOUT_MS: '500' });
    const creates = holdCreates(app);
    const client = new ClientConnection(app.port);
    const reported = once(app.nest.getHttpServer(), 'clientError');
    await client.write(text);
    await reported;
    return [client, creates.release];
  }

  it.each([
    ['headers', LIVE + begin, end],
    ['body', LIVE + large.slice(0, -10_000), large.slice(-10_000)],
  ])('get the time for their %s again', async (_, first, second) => {
    const [client, release] = await startAndWrite(writeCreateRequest(TOKEN) + first);
    // From now on, no time passes for the client.
    holdTimeouts();
    release();
    await until(() => client.answers.length === 2);
    await client.write(second);
    await until(() => client.answers.length === 3);
    expect(client.answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    client.reset();
  });

  it.each([
    ['headers', begin, ''],
    ['body', large.slice(0, -10_000), ''],
    ['body after its headers', begin, `Content-Length: 1\r\n${end}`],
  ])('are refused if then too the %s do not arrive', async (_, first, second) => {
    const [client, release] = await startAndWrite(writeCreateRequest(TOKEN) + LIVE + first);
    release();
    await until(() => client.answers.length === 2);
    await client.write(second);
    await until(() => !client.isOpen);
    expect(client.answers.at(-1)?.status).toBe(408);
  });
});
