import { afterEach, expect, it } from '@jest/globals';
import { passSeconds, resetClocks, stopClock } from 'durable-rest/testing';
import { ClientConnection } from '../support/http/connection.js';
import { LIVE } from '../support/plant-requests.js';
import { TestApp } from '../support/fixture-app.js';

const app = TestApp.forEach();

afterEach(resetClocks);

it('a stop answers all connections in the backlog, also if accepting them takes long', async () => {
  stopClock();
  app.nest.getHttpServer().on('connection', () => passSeconds(0.005));
  const late = Array.from({ length: 500 }, () => new ClientConnection(app.port));
  const written = late.map(async (client) => await client.write(LIVE));
  const closed = app.nest.close();
  await Promise.all(written);
  await Promise.all(late.map((client) => client.closed));
  const statuses = late.map(({ answers }) => answers.map(({ status }) => status));
  expect(statuses).toEqual(late.map(() => [200]));
  await closed;
});
