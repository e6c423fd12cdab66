import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Connections } from '../../src/platform/server/connections.js';
import { passSeconds, resetClocks, stopClock } from '../support/clock.js';
import { ClientConnection } from '../support/http/connection.js';
import { LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { holdCreates } from '../support/server-connections.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

describe('while the application closes', () => {
  afterEach(() => {
    jest.restoreAllMocks();
    resetClocks();
  });

  const app = TestApp.forEach();

  it('all connections in the backlog are answered, also if accepting them takes long', async () => {
    stopClock();
    app.nest.getHttpServer().on('connection', () => passSeconds(0.005));
    const late = Array.from({ length: 500 }, () => new ClientConnection(app.port));
    const written = late.map(async (client) => await client.write(LIVE, 1));
    const closed = app.nest.close();
    await Promise.all(written);
    await Promise.all(late.map((client) => client.closed));
    const statuses = late.map(({ answers }) => answers.map(({ status }) => status));
    expect(statuses).toEqual(late.map(() => [200]));
    await closed;
  });

  it('a request for which no time is left loses its connection', async () => {
    const creates = holdCreates(app);
    const client = new ClientConnection(app.port);
    stopClock();
    await client.write(writeCreateRequest(TOKEN));
    await until(() => creates.begun === 1);
    const closed = app.nest.close();
    while (app.nest.getHttpServer().listening) await nextTurn();
    passSeconds(app.nest.get(Connections).maxDrainMs / 1_000 + 0.1);
    await client.closed;
    expect(client.answers).toEqual([]);
    creates.release();
    await closed;
  });
});
