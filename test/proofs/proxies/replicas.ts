import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request as openRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DISCARD_LIMIT } from '../../../packages/platform/src/server/early-answer.js';
import { freePort } from '../../../packages/platform/src/testing/free-port.js';
import { ClientConnection } from '../../support/http/connection.js';
import { Proxy, type ProxyName } from '../../support/proxies.js';
import { LARGE } from '../../support/plant-requests.js';
import { PostgresServer } from '../../../packages/platform/src/testing/postgres-server.js';
import { type Program, ProgramFolder } from '../../support/program.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';

/** Proxies limit the requests of each address, so honest clients have another one than attackers. */
const HONEST_ADDRESS = '127.0.0.2';
const HONEST_CLIENTS = 8;
/** How many rounds of requests each honest client makes during an attack, at least. */
const ROUNDS = 30;
const PAUSE_MS = 10;
const HEADERS = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
const IMPORT =
  'POST /plants/import HTTP/1.1\r\nHost: a\r\n' +
  `Authorization: Bearer ${TOKEN}\r\nContent-Type: application/x-ndjson\r\n`;

let lastId = 0;

/** A client that creates plants and reads them, and notes each answer that is not the right one. */
class HonestClient {
  readonly failures: string[] = [];
  requests = 0;
  private readonly agent = new Agent({ keepAlive: true, localAddress: HONEST_ADDRESS });

  constructor(private readonly origin: string) {}

  /** Makes rounds of requests until this many are made and the other work is done. */
  async run(work: Promise<unknown>): Promise<void> {
    const state = { isDone: false };
    const done = work.finally(() => (state.isDone = true));
    // A failure is reported at the end of the rounds.
    done.catch(() => undefined);
    for (let round = 0; round < ROUNDS || !state.isDone; round++) {
      const id = ++lastId;
      const name = `plant ${id}`;
      if (await this.ask('POST', '/plants', { id, name }, `{"name":"${name}"}`)) {
        await this.ask('GET', `/plants/${id}`, undefined, `{"id":${id},"name":"${name}"}`);
      }
      await sleep(PAUSE_MS);
    }
    this.agent.destroy();
    await done;
  }

  private async ask(
    method: string,
    path: string,
    body: object | undefined,
    wanted: string,
  ): Promise<boolean> {
    this.requests++;
    const answer = await this.send(method, path, body).catch((error: unknown) => String(error));
    const isRight = answer === `200 ${wanted}`;
    if (!isRight) this.failures.push(`${method} ${path}: ${answer.slice(0, 120)}`);
    return isRight;
  }

  private async send(method: string, path: string, body?: object): Promise<string> {
    const { agent, origin } = this;
    const sent = openRequest(origin + path, { method, agent, headers: HEADERS });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return `${response.statusCode} ${await text(response)}`;
  }
}

/** Writes the lines of an import, each with its own id. */
function writeLines(count: number, name: string): string {
  return Array.from({ length: count }, () => `{"id":${++lastId},"name":"${name}"}\n`).join('');
}

function describeCreated(created: number): string {
  return JSON.stringify({ created, identical: 0, failed: 0, failures: [] });
}

/** Proves it for one proxy. */
export function proveReplicas(name: ProxyName): void {
  let folder: ProgramFolder;
  let postgres: PostgresServer;
  let ports: number[];
  let replicas: Program[];
  let proxy: Proxy;

  function startReplica(port: number): Program {
    const env = { PORT: String(port), DATABASE_URL: postgres.url(), TRUST_PROXY: '1' };
    return folder.serve({ ...env, SHUTDOWN_GRACE_MS: '', LOG_LEVEL: 'error' });
  }

  /** Runs honest clients while something else happens. */
  async function serveDuring(work: () => Promise<unknown>): Promise<HonestClient[]> {
    const clients = Array.from({ length: HONEST_CLIENTS }, () => new HonestClient(proxy.origin));
    const working = work();
    await Promise.all(clients.map((client) => client.run(working)));
    return clients;
  }

  async function assertServedDuring(work: () => Promise<unknown>): Promise<void> {
    const clients = await serveDuring(work);
    assert.deepEqual(
      clients.flatMap(({ failures }) => failures),
      [],
    );
  }

  /** Opens connections that send this and read nothing. */
  async function openUnread(count: number, request: string): Promise<Socket[]> {
    const sockets = Array.from({ length: count }, () => connect(proxy.port, '127.0.0.1'));
    await Promise.all(
      sockets.map(async (socket) => {
        socket.on('error', () => undefined).pause();
        await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
        socket.write(request);
      }),
    );
    return sockets;
  }

  async function importLines(lines: string): Promise<string> {
    const connection = new ClientConnection(proxy.port);
    const head = `${IMPORT}Content-Length: ${lines.length}\r\n\r\n`;
    await connection.write(head + lines);
    const answer = await connection.next();
    connection.socket.destroy();
    return answer?.body ?? 'none';
  }

  /** Sends the lines of an import one byte at a time. */
  async function importBytes(lines: string): Promise<string> {
    const connection = new ClientConnection(proxy.port);
    await connection.write(`${IMPORT}Transfer-Encoding: chunked\r\n\r\n`);
    for (const byte of lines) {
      await connection.write(`1\r\n${byte}\r\n`);
      await sleep(1);
    }
    await connection.write('0\r\n\r\n');
    const answer = await connection.next();
    connection.socket.destroy();
    return answer?.body ?? 'none';
  }

  describe(`two replicas behind ${name}`, () => {
    before(async () => {
      folder = await ProgramFolder.create();
      postgres = await PostgresServer.start();
      ports = [await freePort(), await freePort()];
      replicas = [];
      for (const port of ports) {
        const replica = startReplica(port);
        // The first one makes the tables.
        await replica.ready(port);
        replicas.push(replica);
      }
      proxy = await Proxy.start(name, folder, ports);
    });

    after(async () => {
      await proxy.stop();
      await folder.remove();
      await postgres.remove();
    });

    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      it(`serve everybody while they restart one after the other, each with ${signal}`, async () => {
        const restarts = 6;
        const clients = await serveDuring(async () => {
          for (let restart = 0; restart < restarts; restart++) {
            const index = restart % ports.length;
            const port = ports[index] ?? 0;
            await replicas[index]?.end(signal);
            const replica = startReplica(port);
            replicas[index] = replica;
            await replica.ready(port);
          }
        });
        const failures = clients.flatMap((client) => client.failures);
        const requests = clients.reduce((sum, client) => sum + client.requests, 0);
        console.log(
          `${restarts} restarts, ${requests} requests, failed: ${failures.join('; ') || 0}`,
        );
        if (!proxy.kind.sendsAgain) {
          // Until the next probe of its health, creates get an error, and may be sent again.
          const unsent = failures.filter(
            (failure) => !/^POST .*: 502 \{"error":50200,/.test(failure),
          );
          assert.ok(unsent.length <= restarts * HONEST_CLIENTS, unsent.join('; '));
          if (signal === 'SIGTERM') assert.deepEqual(unsent, []);
          return;
        }
        // A kill can cost the requests that are under way to the replica, one for each client. On a
        // busy machine a proxy learns late that its idle connections have ended, so a client may lose
        // two of them, and another none.
        assert.ok(failures.length <= restarts * HONEST_CLIENTS, failures.join('; '));
        if (signal === 'SIGTERM') assert.deepEqual(failures, []);
      });
    }

    it('refuse an upload without a token before its end, and the proxy does not store it', async () => {
      const head = 'POST /plants HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n';
      const piece = Buffer.alloc(8 * 1024, ' ');
      let stored = 0;
      const upload = async (): Promise<number | undefined> => {
        const connection = new ClientConnection(proxy.port);
        await connection.write(head);
        // Once the program has discarded this much after its answer, the connection is reset, and a
        // client that has not read the answer loses it.
        let sent = 0;
        while (sent < DISCARD_LIMIT && connection.answers.length === 0) {
          await connection.write(piece);
          sent += piece.length;
          stored = Math.max(stored, proxy.countTemporaryBytes());
          await sleep(PAUSE_MS);
        }
        const answer = await connection.next();
        connection.socket.destroy();
        return answer?.status;
      };
      await assertServedDuring(async () => {
        const statuses = await Promise.all(Array.from({ length: 20 }, upload));
        assert.deepEqual(new Set(statuses), new Set([401]));
      });
      assert.equal(stored, 0);
    });

    it('serve everybody beside downloads that nobody reads, which the proxy does not store', async () => {
      await assertServedDuring(async () => {
        const sockets = await openUnread(150, LARGE);
        for (let look = 0; look < 20; look++) {
          assert.equal(proxy.countTemporaryBytes(), 0);
          await sleep(100);
        }
        for (const socket of sockets) socket.destroy();
      });
    });

    it('serve everybody beside thousands of connections of one address', async () => {
      await assertServedDuring(async () => {
        const sockets = await openUnread(4_000, LARGE);
        if (proxy.kind.limitsAddresses) {
          const [refused] = await Promise.all(sockets.slice(-1).map((socket) => readHead(socket)));
          assert.match(refused ?? '', /^HTTP\/1.1 429 [^]*Retry-After: 1[^]*\{"error":42900,/i);
        }
        for (const socket of sockets) socket.destroy();
      });
    });

    it('store imports in small pieces, and serve everybody beside them', async () => {
      await assertServedDuring(async () => {
        const lines = Array.from({ length: 4 }, () => writeLines(10, 'in pieces'));
        assert.deepEqual(
          await Promise.all(lines.map(importBytes)),
          lines.map(() => describeCreated(10)),
        );
      });
    });

    it('store 24 imports at a time, and serve everybody beside them', async () => {
      const name = 'x'.repeat(1_000);
      await assertServedDuring(async () => {
        const lines = Array.from({ length: 24 }, () => writeLines(2_000, name));
        assert.deepEqual(
          await Promise.all(lines.map(importLines)),
          lines.map(() => describeCreated(2_000)),
        );
      });
    });
  });
}

/** Reads what a connection has got so far. */
async function readHead(socket: Socket): Promise<string> {
  const [data] = (await once(socket.resume(), 'data')) as [Buffer];
  return data.toString();
}
