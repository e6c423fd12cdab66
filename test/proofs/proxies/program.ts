import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type NewPlant, PlantStoreClient } from '../../../client/plant-store-client.js';
import { ClientConnection, openSocket } from '../../support/http/connection.js';
import { Proxy, type ProxyName, type ProxyOptions } from '../../support/proxies.js';
import { type Program, ProgramFolder } from '../../support/program.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';
import { until } from '../../../packages/platform/src/testing/until.js';

// Runs a proxy with its shipped configuration in front of the program: streams, errors and every method.

const HEADERS = { Authorization: `Bearer ${TOKEN}` };
/** Longer than the buffers of the proxy, the program and the system together. */
const LONG_NAME = 'x'.repeat(50_000);
const LONG_PLANTS = 1_000;

const LONG = 'x'.repeat(20_000);

/** The code of an Error; or else only the status, of an answer in the shape of the proxy. */
type Expected = Readonly<Record<ProxyName, number>>;

function everywhere(code: number): Expected {
  return { nginx: code, haproxy: code, caddy: code };
}

/** Requests that a proxy answers itself, or that other proxies lose. */
const REQUESTS: readonly (readonly [what: string, request: string, expected: Expected])[] = [
  ['a line that is no request', 'garbage\r\n\r\n', { nginx: 40000, haproxy: 400, caddy: 400 }],
  [
    'another version of HTTP',
    'GET /nothing HTTP/3.0\r\nHost: a\r\n\r\n',
    { nginx: 40000, haproxy: 40400, caddy: 505 },
  ],
  ['no Host', 'GET /health/live HTTP/1.1\r\n\r\n', { nginx: 40000, haproxy: 40000, caddy: 400 }],
  [
    'a path that leads above the root',
    'GET /../x HTTP/1.1\r\nHost: a\r\n\r\n',
    { nginx: 40000, haproxy: 40400, caddy: 40400 },
  ],
  [
    'two lengths',
    `POST / HTTP/1.1\r\nHost: a\r\n${'Content-Length: 1\r\n'.repeat(2)}\r\nx`,
    { nginx: 40000, haproxy: 40500, caddy: 40500 },
  ],
  [
    'an unknown coding',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n',
    { nginx: 40000, haproxy: 400, caddy: 501 },
  ],
  ['a long target', `GET /${LONG} HTTP/1.1\r\nHost: a\r\n\r\n`, everywhere(43100)],
  ['a long header', `GET / HTTP/1.1\r\nHost: a\r\nX: ${LONG}\r\n\r\n`, everywhere(43100)],
  [
    'headers that no proxy takes',
    `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
    { nginx: 43100, haproxy: 400, caddy: 431 },
  ],
  [
    'too many headers',
    `GET / HTTP/1.1\r\nHost: a\r\n${'X: 1\r\n'.repeat(200)}\r\n`,
    everywhere(43100),
  ],
  ['TRACE', 'TRACE / HTTP/1.1\r\nHost: a\r\n\r\n', everywhere(40500)],
  ['a path of a configuration', 'GET /errors/40000 HTTP/1.1\r\nHost: a\r\n\r\n', everywhere(40400)],
  [
    'headers of 15 KiB',
    `GET /x HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(15_000)}\r\n\r\n`,
    everywhere(40400),
  ],
];

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

async function assertError(
  answer: Response | Promise<Response>,
  status: number,
  error: number,
  retryAfter: string | null,
): Promise<void> {
  const response = await answer;
  assert.equal(response.status, status);
  assert.equal(response.headers.get('content-type')?.split(';')[0], 'application/json');
  assert.equal(response.headers.get('retry-after'), retryAfter);
  const body = (await response.json()) as { error: number; message: string };
  assert.deepEqual(Object.keys(body), ['error', 'message']);
  assert.equal(body.error, error);
}

/** Proves it for one proxy. */
export function proveProgram(name: ProxyName): void {
  describe(`the program behind ${name}`, () => {
    let folder: ProgramFolder;
    let program: Program;
    let proxy: Proxy;
    let origin: string;
    let client: PlantStoreClient;

    async function startProxy(upstream: number, options?: ProxyOptions): Promise<void> {
      proxy = await Proxy.start(name, folder, [upstream], options);
      origin = proxy.origin;
      client = new PlantStoreClient(origin, TOKEN, { timeoutMs: 240_000, attempts: 1 });
    }

    beforeEach(async () => {
      folder = await ProgramFolder.create();
    });

    afterEach(async () => {
      await proxy.stop();
      await folder.remove();
    });

    describe('as it is shipped', () => {
      beforeEach(async () => {
        program = folder.serve({ TRUST_PROXY: '1' });
        await startProxy(Number(new URL(await program.listening()).port));
      });

      it('is used as without it', async () => {
        const plant = { name: 'a', tag: 't' };
        assert.deepEqual(await client.createPlant({ id: 1, ...plant }), plant);
        assert.deepEqual(await client.patchPlant(1, { tag: null }), { name: 'a' });
        const { etag } = await client.readPlant(1);
        assert.deepEqual(await client.replacePlant(1, { name: 'b' }, etag), { name: 'b' });
        await client.removePlant(1);
        await assert.rejects(client.readPlant(1), { error: 40401 });
        const answer = await fetch(`${origin}/plants`, { method: 'OPTIONS' });
        assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
      });

      it('passes a Link with the longest filter', async () => {
        const tag = 't'.repeat(4_096);
        await client.createPlant({ id: 1, name: 'a', tag });
        await client.createPlant({ id: 2, name: 'b', tag });
        const answer = await fetch(`${origin}/plants?limit=1&tag=${tag}`, { headers: HEADERS });
        assert.equal(answer.status, 200);
        assert.ok(answer.headers.get('link')?.includes(tag));
      });

      it('answers a body that is too large itself', async () => {
        const headers = { ...HEADERS, 'Content-Type': 'application/json' };
        for (const kib of [200, 2 * 1024, 5 * 1024]) {
          const body = `{"id":1,"name":"${'x'.repeat(kib * 1024)}"}`;
          const answer = fetch(`${origin}/plants`, { method: 'POST', headers, body });
          await assertError(answer, 413, 41300, null);
        }
      });

      it('stores the lines of an import while it is sent, however long it takes', async () => {
        async function* plants(): AsyncGenerator<NewPlant> {
          for (let id = 1; id <= LONG_PLANTS; id++) yield { id, name: LONG_NAME };
          await until(async () => (await fetch(`${origin}/plants/1`, { headers: HEADERS })).ok);
        }
        const result = await client.importPlants(plants());
        assert.deepEqual(result, { created: LONG_PLANTS, identical: 0, failed: 0, failures: [] });
      });

      it('sends an export while it is read, which breaks off where the program does', async () => {
        const plants = Array.from({ length: LONG_PLANTS }, (_, id) => ({ id, name: LONG_NAME }));
        await client.importPlants(plants);
        let count = 0;
        const exported = async (): Promise<void> => {
          for await (const { name } of client.exportPlants()) {
            assert.equal(name, LONG_NAME);
            if (++count === 10) program.kill('SIGKILL');
          }
        };
        const outcome = await exported().catch((error: unknown) => error);
        assert.equal(outcome instanceof Error, proxy.kind.breaksOff);
        assert.ok(count < LONG_PLANTS);
      });

      it('is answered in the shape of every error where a proxy can do so', async () => {
        for (const [what, request, expected] of REQUESTS) {
          const connection = new ClientConnection(proxy.port);
          await connection.write(request);
          const answer = await connection.next();
          connection.socket.destroy();
          const status = expected[name];
          const code = status >= 1_000 ? status : undefined;
          assert.equal(answer?.status, code === undefined ? status : Math.floor(code / 100), what);
          if (code === undefined) continue;
          assert.equal(answer.headers['content-type']?.split(';')[0], 'application/json', what);
          assert.equal(answer.headers.server, proxy.kind.server, what);
          assert.equal((JSON.parse(answer.body) as { error: number }).error, code, what);
        }
      });

      it('answers HTTP/1.0 without a Host', async () => {
        const socket = openSocket(proxy.port);
        socket.write('GET /nothing HTTP/1.0\r\n\r\n');
        const answer = await text(socket);
        assert.match(answer, /^HTTP\/1\.[01] 404 [^]*\r\n\r\n\{"error":40400,/);
      });

      it('is answered for in the shape of its errors when it is not there', async () => {
        await program.end('SIGKILL');
        const answer = await fetch(`${origin}/plants/1`, { headers: HEADERS });
        const code = 100 * answer.status;
        assert.ok(proxy.kind.unreachable.includes(code), String(code));
        await assertError(answer, answer.status, code, '1');
        await assert.rejects(client.createPlant({ id: 1, name: 'n' }), { retryAfter: 1 });
      });
    });

    it('which removes a path prefix: is used as without it', async () => {
      program = folder.serve({ TRUST_PROXY: '1', PATH_PREFIX: '/api' });
      await startProxy(Number(new URL(await program.listening()).port), { removesPrefix: true });
      const url = `${origin}/api`;
      client = new PlantStoreClient(url, TOKEN);
      await client.importPlants([1, 2, 3].map((id) => ({ id, name: 'a' })));
      const ids: bigint[] = [];
      for await (const { id } of client.listPlants({ limit: 1 })) ids.push(id);
      assert.deepEqual(ids, [1n, 2n, 3n]);

      const page = await fetch(`${url}/plants?limit=1`, { headers: HEADERS });
      const [, target = ''] = /^<(.*)>/.exec(page.headers.get('link') ?? '') ?? [];
      const next = await fetch(new URL(target, page.url), { headers: HEADERS });
      assert.deepEqual(await next.json(), [{ id: 2, name: 'a' }]);
      const start = await fetch(`${url}/`);
      assert.equal(start.url, `${url}/docs`);
      assert.equal(start.status, 200);
    });

    describe('which compresses', () => {
      const plantName = 'a'.repeat(1_000);

      async function start(compresses: 'json' | 'page and lines'): Promise<void> {
        program = folder.serve({ TRUST_PROXY: '1' });
        await startProxy(Number(new URL(await program.listening()).port), { compresses });
        await client.createPlant({ id: 1, name: plantName });
      }

      async function readEtag(): Promise<string | null> {
        return (await fetch(`${origin}/plants/1`, { headers: HEADERS })).headers.get('etag');
      }

      it('takes the ETag of a compressed plant, or says how to change the plant', async () => {
        await start('json');
        const etag = (await readEtag()) ?? '';
        const headers = { ...HEADERS, 'Content-Type': 'application/json', 'If-Match': etag };
        const init = { method: 'PUT', headers, body: '{"name":"b"}' };
        const answer = await fetch(`${origin}/plants/1`, init);
        const { weakensEtags } = proxy.kind;
        assert.equal(etag.startsWith('W/'), weakensEtags);
        assert.equal(answer.status, weakensEtags ? 412 : 200);
        if (!weakensEtags) return;
        assert.match(await answer.text(), /A proxy that compresses answers/);
        assert.equal(await client.readPlant(1, etag), undefined);
        assert.deepEqual(await client.replacePlant(1, { name: 'b' }, etag), { name: 'b' });
      });

      it('keeps the ETags of JSON if only the page and lines are compressed', async () => {
        await start('page and lines');
        assert.match((await readEtag()) ?? '', /^"/);
        const lines = { ...HEADERS, Accept: 'application/x-ndjson' };
        for (const [path, headers] of [
          ['/docs', {}],
          ['/docs/swagger-ui-bundle.js', {}],
          ['/plants', lines],
        ] as const) {
          const answer = await fetch(origin + path, { headers });
          assert.equal(answer.headers.get('content-encoding'), 'gzip', path);
          await answer.text();
        }
      });
    });

    it('which answers for a program that is silent, but waits longer for an import', async () => {
      let held: ServerResponse | undefined;
      const upstream = createServer((request, response) => {
        if (request.url?.startsWith('/health/') === true) response.end();
        else if (request.url === '/plants/import') held = response;
      });
      await startProxy(await listen(upstream), { readTimeout: '100ms' });
      const imported = fetch(`${origin}/plants/import`, { method: 'POST', body: '{}' });
      await until(() => held !== undefined);
      // By then, the answer to the import is also late.
      await assertError(fetch(`${origin}/plants/1`), 504, 50400, '1');
      held?.end('{}');
      assert.equal((await imported).status, 200);
      upstream.closeAllConnections();
      upstream.close();
    });
  });
}
