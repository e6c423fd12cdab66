import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SqliteReader } from '../../src/commands/sqlite-reader.js';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { Env } from '../../src/platform/config/env.js';
import { getMaxDrainMs } from '../../src/platform/server/connections.js';
import { passSeconds, resetClocks, stopClock } from '../support/clock.js';
import { ClientConnection } from '../support/http/connection.js';
import { LIVE, writeCreateRequest } from '../support/plant-requests.js';
import type { Program } from '../support/program.js';
import { ProgramFolder } from '../support/program-folder.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';
import { until } from '../support/until.js';

async function create(client: ClientConnection): Promise<void> {
  await client.write(writeCreateRequest(TOKEN), 1);
}

/** Creates one plant after another until the connection is closed. */
async function createOn(client: ClientConnection): Promise<void> {
  do await create(client);
  while ((await client.next())?.headers.connection === 'keep-alive');
}

describe('the program, when it stops', () => {
  let folder: ProgramFolder;
  let program: Program;
  let port: number;

  async function start(env: Record<string, string> = {}): Promise<void> {
    program = folder.start({ ACCESS_TOKENS: TOKEN, ...env });
    port = Number(new URL(await program.listening()).port);
  }

  function clients(count: number): ClientConnection[] {
    return Array.from({ length: count }, () => new ClientConnection(port));
  }

  async function storedPlants(): Promise<number | undefined> {
    const reader = await SqliteReader.open(folder.file('data/plants.db'), 'rw');
    const [row] = await reader.all<{ count: number }>('SELECT count(*) AS count FROM plants');
    await reader.close();
    return row?.count;
  }

  beforeEach(async () => {
    folder = await ProgramFolder.create();
  });

  afterEach(async () => {
    await folder.remove();
  });

  // The program is paused while its last requests are sent. Some are then being handled, some wait
  // unread on accepted connections, and some on connections that it has not accepted yet.
  it('answers and stores every request that was sent whole, and exits 0', async () => {
    await start();
    const busy = clients(64);
    const busyOnes = Promise.all(busy.map(createOn));
    await until(() => busy.every(({ answers }) => answers.length > 0));

    program.kill('SIGSTOP');
    const late = clients(200);
    await Promise.all(late.map(create));
    const sent = [...busy, ...late].map((client): [ClientConnection, number] => [
      client,
      client.sent,
    ]);
    program.kill('SIGTERM');
    program.kill('SIGCONT');

    expect(await program.exited()).toBe(0);
    await Promise.all([busyOnes, ...sent.map(([client]) => client.closed)]);
    for (const [client, count] of sent) {
      expect(client.answers.length).toBeGreaterThanOrEqual(count);
      expect(client.answers.every(({ status }) => status === 200)).toBe(true);
    }
    const created = [...busy, ...late].flatMap(({ answers }) => answers).length;
    expect(await storedPlants()).toBeGreaterThanOrEqual(created);
  });

  it('answers all of many concurrent conditional changes, and closes the store last', async () => {
    await start();
    const storm = clients(200);
    const creation = writeCreateRequest(TOKEN);
    const id = /"id":(\d+)/.exec(creation)?.[1] ?? '';
    await storm[0]?.write(creation, 1);
    await storm[0]?.next();
    const body = '{"name":"storm"}';
    const change = `PUT /plants/${id} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nIf-None-Match: "none"\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    await Promise.all(storm.map((client) => client.write(change, 1)));
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(0);
    await Promise.all(storm.map(({ closed }) => closed));
    const answered = storm.filter(({ answers, sent }) => answers.length === sent);
    expect(answered).toHaveLength(storm.length);
    const statuses = new Set(storm.flatMap(({ answers }) => answers.map(({ status }) => status)));
    expect([...statuses]).toEqual([200]);
    expect(program.output).not.toMatch(/"level":[456]0/);
  });
});

describe('while the application closes', () => {
  let app: TestApp;
  let finish: () => void;
  let held: Promise<void>;
  let arrived: Promise<void>;

  beforeEach(async () => {
    app = await TestApp.start();
    held = new Promise<void>((resolve) => (finish = resolve));
    arrived = new Promise((resolve) => {
      jest.spyOn(app.nest.get(PlantsService), 'create').mockImplementation(async () => {
        resolve();
        await held;
        return { name: 'held' };
      });
    });
  });

  afterEach(async () => {
    await app.close();
    jest.restoreAllMocks();
    resetClocks();
  });

  it('requests that are being handled are answered with Connection: close', async () => {
    const client = new ClientConnection(app.port);
    await create(client);
    await arrived;
    const closed = app.nest.close();
    while (app.nest.getHttpServer().listening) await nextTurn();
    finish();
    await client.closed;
    expect(client.answers).toMatchObject([{ status: 200, headers: { connection: 'close' } }]);
    await closed;
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
    passSeconds(getMaxDrainMs(app.nest.get(Env).SHUTDOWN_GRACE_MS) / 1_000 + 0.1);
    await client.closed;
    expect(client.answers).toEqual([]);
    finish();
    await closed;
  });
});
