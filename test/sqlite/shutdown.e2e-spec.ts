import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { Connections } from '../../src/platform/server/connections.js';
import { passSeconds, resetClocks, stopClock } from '../support/clock.js';
import { ClientConnection } from '../support/http/connection.js';
import { LIVE, writeCreateRequest } from '../support/plant-requests.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

async function create(client: ClientConnection): Promise<void> {
  await client.write(writeCreateRequest(TOKEN), 1);
}

describe('while the application closes', () => {
  let finish: () => void;
  let held: Promise<void>;
  let arrived: Promise<void>;

  afterEach(() => {
    jest.restoreAllMocks();
    resetClocks();
  });

  const app = TestApp.forEach();

  beforeEach(() => {
    held = new Promise<void>((resolve) => (finish = resolve));
    arrived = new Promise((resolve) => {
      jest.spyOn(app.nest.get(PlantsService), 'create').mockImplementation(async () => {
        resolve();
        await held;
        return { name: 'held' };
      });
    });
  });

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
    const client = new ClientConnection(app.port);
    stopClock();
    await create(client);
    await arrived;
    const closed = app.nest.close();
    while (app.nest.getHttpServer().listening) await nextTurn();
    passSeconds(app.nest.get(Connections).maxDrainMs / 1_000 + 0.1);
    await client.closed;
    expect(client.answers).toEqual([]);
    finish();
    await closed;
  });
});
