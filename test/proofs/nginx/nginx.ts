import './replicas.js';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type NewPlant, PlantStoreClient } from '../../../client/plant-store-client.js';
import { ClientConnection } from '../../support/http/connection.js';
import { Nginx } from '../../support/nginx.js';
import { type Program, ProgramFolder } from '../../support/program.js';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';
import { until } from '../../../packages/platform/src/testing/until.js';

// Runs the shipped nginx.conf in front of the program: streams, errors and every method.

const HEADERS = { Authorization: `Bearer ${TOKEN}` };
/** Longer than the buffers of nginx, the program and the system together. */
const LONG_NAME = 'x'.repeat(50_000);
const LONG_PLANTS = 1_000;

let folder: ProgramFolder;
let program: Program;
let nginx: Nginx;
let origin: string;
let client: PlantStoreClient;

async function startNginx(upstream: number, readTimeout?: string): Promise<void> {
  nginx = await Nginx.start(folder, [upstream], readTimeout);
  origin = nginx.origin;
  client = new PlantStoreClient(origin, TOKEN, { timeoutMs: 240_000, attempts: 1 });
}

beforeEach(async () => {
  folder = await ProgramFolder.create();
});

afterEach(async () => {
  await nginx.stop();
  await folder.remove();
});

async function assertError(
  answer: Promise<Response>,
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

describe('the program behind the shipped nginx.conf', () => {
  beforeEach(async () => {
    program = folder.serve({ TRUST_PROXY: '1' });
    await startNginx(Number(new URL(await program.listening()).port));
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
    await assert.rejects(exported());
    assert.ok(count < LONG_PLANTS);
  });

  const LONG = 'x'.repeat(20_000);
  /** Requests that nginx answers itself, or that other proxies lose. */
  const REQUESTS: readonly (readonly [what: string, request: string, code: number])[] = [
    ['a line that is no request', 'garbage\r\n\r\n', 40000],
    ['another version of HTTP', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n', 40000],
    ['HTTP/2 without an agreement', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 40000],
    ['no Host', 'GET /health/live HTTP/1.1\r\n\r\n', 40000],
    ['a path that leads above the root', 'GET /../x HTTP/1.1\r\nHost: a\r\n\r\n', 40000],
    [
      'two lengths',
      `POST / HTTP/1.1\r\nHost: a\r\n${'Content-Length: 1\r\n'.repeat(2)}\r\n`,
      40000,
    ],
    ['an unknown coding', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n', 40000],
    ['a long target', `GET /${LONG} HTTP/1.1\r\nHost: a\r\n\r\n`, 43100],
    ['a long header', `GET / HTTP/1.1\r\nHost: a\r\nX: ${LONG}\r\n\r\n`, 43100],
    ['TRACE', 'TRACE / HTTP/1.1\r\nHost: a\r\n\r\n', 40500],
    ['a path of the configuration', 'GET /errors/40000 HTTP/1.1\r\nHost: a\r\n\r\n', 40400],
    ['HTTP/1.0 without Host', 'GET /nothing HTTP/1.0\r\n\r\n', 40400],
    ['headers of 15 KiB', `GET /x HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(15_000)}\r\n\r\n`, 40400],
  ];

  it('is answered in the shape of every error where nginx answers itself', async () => {
    for (const [what, request, code] of REQUESTS) {
      const connection = new ClientConnection(nginx.port);
      await connection.write(request);
      const answer = await connection.next();
      connection.socket.destroy();
      assert.equal(answer?.status, Math.floor(code / 100), what);
      assert.equal(answer.headers['content-type']?.split(';')[0], 'application/json', what);
      assert.equal(answer.headers.server, 'nginx', what);
      assert.equal((JSON.parse(answer.body) as { error: number }).error, code, what);
    }
  });

  it('is answered for in the shape of its errors when it is not there', async () => {
    await program.end('SIGKILL');
    await assertError(fetch(`${origin}/plants/1`, { headers: HEADERS }), 502, 50200, '1');
    await assert.rejects(client.createPlant({ id: 1, name: 'n' }), { status: 502, retryAfter: 1 });
  });
});

it('the program behind a path prefix that nginx removes is used as without it', async () => {
  program = folder.serve({ TRUST_PROXY: '1', PATH_PREFIX: '/api' });
  const { port } = new URL(await program.listening());
  nginx = await Nginx.start(folder, [Number(port)], '30s', 'rewrite ^/api(/.*)$ $1;');
  const url = `${nginx.origin}/api`;
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

describe('the program behind an nginx that compresses', () => {
  const PAGE_AND_LINES =
    'gzip_types text/css text/javascript application/javascript application/x-ndjson;';
  const name = 'a'.repeat(1_000);

  async function start(types: string): Promise<void> {
    program = folder.serve({ TRUST_PROXY: '1' });
    const { port } = new URL(await program.listening());
    const gzip = `gzip on; gzip_proxied any; ${types}`;
    nginx = await Nginx.start(folder, [Number(port)], '30s', gzip);
    origin = nginx.origin;
    client = new PlantStoreClient(origin, TOKEN);
    await client.createPlant({ id: 1, name });
  }

  async function readEtag(): Promise<string | null> {
    return (await fetch(`${origin}/plants/1`, { headers: HEADERS })).headers.get('etag');
  }

  it('says how to change a plant whose ETag nginx has made weak', async () => {
    await start('gzip_types application/json;');
    const etag = (await readEtag()) ?? '';
    assert.match(etag, /^W\//);
    const headers = { ...HEADERS, 'Content-Type': 'application/json', 'If-Match': etag };
    const init = { method: 'PUT', headers, body: '{"name":"b"}' };
    const refused = await fetch(`${origin}/plants/1`, init);
    assert.equal(refused.status, 412);
    assert.match(await refused.text(), /A proxy that compresses answers/);
    assert.equal(await client.readPlant(1, etag), undefined);
    assert.deepEqual(await client.replacePlant(1, { name: 'b' }, etag), { name: 'b' });
  });

  it('keeps the ETags of JSON if nginx compresses only the page and lines', async () => {
    await start(PAGE_AND_LINES);
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

it('nginx answers in the shape of its errors for a program that is silent', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  await startNginx((silent.address() as AddressInfo).port, '100ms');
  await assertError(fetch(`${origin}/plants/1`, { headers: HEADERS }), 504, 50400, '1');
  silent.close();
});

it('nginx waits longer for the answer to an import', async () => {
  let held: ServerResponse | undefined;
  const upstream = createHttpServer((request, response) => {
    if (request.url === '/plants/import') held = response;
  });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  await startNginx((upstream.address() as AddressInfo).port, '100ms');
  const imported = fetch(`${origin}/plants/import`, { method: 'POST', body: '{}' });
  await until(() => held !== undefined);
  // By then, the answer to the import is also late.
  await assertError(fetch(`${origin}/plants/1`), 504, 50400, '1');
  held?.end('{}');
  assert.equal((await imported).status, 200);
  upstream.closeAllConnections();
  upstream.close();
});
