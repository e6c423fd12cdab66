import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn, setTimeout as after } from 'node:timers/promises';
import { StoreReader } from '../../src/commands/store-reader.js';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import { stopUnderLoad } from '../proofs/stop/stop-under-load.js';
import { ClientConnection } from '../support/http/connection.js';
import { createRequest } from '../support/plant-requests.js';
import type { Program } from '../support/program.js';
import { ProgramFolder } from '../support/program-folder.js';
import { TestApp } from '../support/test-app.js';
import { TOKEN } from '../support/token.js';

const READY = 'GET /health/ready HTTP/1.1\r\nHost: a\r\n\r\n';

async function create(client: ClientConnection): Promise<void> {
  await client.write(createRequest(TOKEN), 1);
}

/** Creates one plant after another until the connection is closed. */
async function createOn(client: ClientConnection): Promise<void> {
  do await create(client);
  while ((await client.next())?.headers.connection === 'keep-alive');
}

describe('the program, told to stop', () => {
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

  /** Clients that keep the connection on which their request was answered. */
  async function idleClients(count: number): Promise<ClientConnection[]> {
    const idle = clients(count);
    for (const client of idle) await create(client);
    for (const client of idle) expect(await client.next()).toMatchObject({ status: 200 });
    return idle;
  }

  async function storedPlants(): Promise<number | undefined> {
    const reader = await StoreReader.open(folder.file('data/plants.db'), 'rw');
    const [row] = await reader.all<{ count: number }>('SELECT count(*) AS count FROM plants');
    await reader.close();
    return row?.count;
  }

  /** Resolves when the program does not listen any more. */
  async function refusesConnections(): Promise<void> {
    for (;;) {
      const client = new ClientConnection(port);
      if (!(await client.opened)) return;
      client.reset();
    }
  }

  beforeEach(async () => {
    folder = await ProgramFolder.create();
  });

  afterEach(async () => {
    await folder.remove();
  });

  // The program is held while its last requests are sent: some are then under way in it, some
  // wait unread on connections it knows, some on connections it has not accepted yet.
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'under load by %s answers every request that was sent whole, has stored it, and exits 0',
    async (signal) => {
      await start();
      const busy = clients(64);
      const busyOnes = Promise.all(busy.map(createOn));
      await idleClients(1);
      await after(Math.random() * 300);

      program.kill('SIGSTOP');
      const late = clients(200);
      await Promise.all(late.map(create));
      const pipelining = clients(2);
      const quick = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
      const pipelines = [
        createRequest(TOKEN) + createRequest(TOKEN) + createRequest(TOKEN),
        quick.repeat(3),
      ];
      await Promise.all(pipelining.map((client, index) => client.write(pipelines[index] ?? '', 3)));
      const sent = [...busy, ...late, ...pipelining].map((client): [ClientConnection, number] => [
        client,
        client.sent,
      ]);
      program.kill(signal);
      program.kill('SIGCONT');

      expect(await program.exited()).toBe(0);
      await Promise.all([busyOnes, ...sent.map(([client]) => client.closed)]);
      for (const [client, count] of sent) {
        expect(client.answers.length).toBeGreaterThanOrEqual(count);
        expect(client.answers.every(({ status }) => status === 200)).toBe(true);
      }
      const created = [...busy, ...late].flatMap(({ answers }) => answers).length + 3;
      expect(await storedPlants()).toBeGreaterThanOrEqual(created);
      const lastOnes = late.map(({ answers }) => answers[0]?.headers.connection);
      // One that is answered while the last connections are accepted is not told yet.
      expect(lastOnes).toContain('close');
    },
  );

  it('answers on connections that were idle, keeps others for a grace time, and is over within seconds', async () => {
    await start({ SHUTDOWN_GRACE_MS: '' });
    const [probe, ...idle] = await idleClients(25);
    const [asking, keeping] = [idle.slice(0, 16), idle.slice(16)];
    const [silent, halfHead, halfBody, deaf] = clients(4);
    await halfHead?.write('POST /plants HTTP/1.1\r\nHost:');
    await halfBody?.write(createRequest(TOKEN).slice(0, -1));
    deaf?.pause();
    await deaf?.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(20));
    // An answer on a further connection tells that these have been accepted.
    await fetch(`http://127.0.0.1:${String(port)}/health/live`);
    const began = performance.now();
    const kept = Promise.all([silent, ...keeping].map(async (client) => await client?.closed)).then(
      () => performance.now() - began,
    );
    // Signals that follow within a second are one.
    for (let round = 0; round < 3; round++) program.kill('SIGTERM');
    await refusesConnections();
    await probe?.write(READY);
    expect(await probe?.next()).toMatchObject({ status: 503, headers: { connection: 'close' } });
    for (const client of asking) await create(client);
    for (const client of asking) {
      expect(await client.next()).toMatchObject({ status: 200, headers: { connection: 'close' } });
    }
    expect(await kept).toBeGreaterThan(1_900);
    expect(await program.exited()).toBe(0);
    expect(performance.now() - began).toBeLessThan(5_000);
    deaf?.reset();
  });

  // `npm run test:stop` does it as often as one likes.
  it('loses no request of 64 keep-alive clients', async () => {
    expect(await stopUnderLoad(folder.path, 8)).toMatchObject({ faults: [] });
  });

  it.each([
    [
      'lets what else runs in the process finish, such as an export of traces',
      "process.once('beforeExit',()=>console.log('finished'))",
      /^finished$/m,
    ],
    ['waits for it only briefly', 'setInterval(()=>0,1e3)', /"msg":"Stopped"/],
  ])('%s', async (_, script, output) => {
    await start({ NODE_OPTIONS: `--import data:text/javascript,${script}` });
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(0);
    expect(program.output).toMatch(output);
  });

  it('exits 1 at once by a second signal a second later', async () => {
    await start({ SHUTDOWN_GRACE_MS: '' });
    const [half] = clients(1);
    await half?.write('POST /plants HTTP/1.1\r\nHost:');
    // An answer on another connection tells that the first has been accepted.
    await fetch(`http://127.0.0.1:${String(port)}/health/live`);
    program.kill('SIGTERM');
    await program.printed(/SIGTERM: answering what has arrived/);
    await after(1_100);
    const began = performance.now();
    program.kill('SIGTERM');
    expect(await program.exited()).toBe(1);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('by errors that nothing caught, logs them, answers and exits 1', async () => {
    const bugs =
      'process.on("SIGUSR2",()=>{Promise.reject(new Error("lost"));throw new Error("boom")})';
    await start({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(bugs)}` });
    const busy = clients(8);
    const sent = Promise.all(busy.map(createOn));
    await fetch(`http://127.0.0.1:${String(port)}/health/ready`);
    program.kill('SIGUSR2');
    expect(await program.exited()).toBe(1);
    await sent;
    const answers = busy.flatMap((client) => client.answers);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(answers.some(({ headers }) => headers.connection === 'close')).toBe(true);
    expect(program.output).toMatch(/"level":60.*boom/);
    expect(program.output).toMatch(/"level":60.*lost/);
    expect(program.output).toContain('Stopped');
  });
});

describe('while the application closes', () => {
  let app: TestApp;
  let finish: () => void;
  let arrived: Promise<void>;

  beforeEach(async () => {
    app = await TestApp.start();
    const held = new Promise<void>((resolve) => (finish = resolve));
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
  });

  it('requests under way are answered and say that the connection closes', async () => {
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

  it.each([3, 500])('pipelined requests that were sent are all answered: %s', async (count) => {
    const client = new ClientConnection(app.port);
    // Five hundred are more than are read at a time.
    await client.write(Array.from({ length: count }, () => createRequest(TOKEN)).join(''));
    await arrived;
    const closed = app.nest.close();
    while (app.nest.getHttpServer().listening) await nextTurn();
    finish();
    await client.closed;
    expect(client.answers.map(({ status }) => status)).toEqual(Array(count).fill(200));
    expect(client.answers.at(-1)?.headers.connection).toBe('close');
    await closed;
  });
});
