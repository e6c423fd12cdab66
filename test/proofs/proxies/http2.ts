import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { TOKEN } from '../../../packages/platform/src/testing/token.js';
import { until } from '../../../packages/platform/src/testing/until.js';
import { ProgramFolder } from '../../support/program.js';
import { CERTIFICATE, Proxy, type ProxyName } from '../../support/proxies.js';

// Clients of HTTP/2 and TLS in front of a proxy, which speaks HTTP/1.1 to the program.

const JSON_TYPE = { 'content-type': 'application/json' };
const LINES_TYPE = { 'content-type': 'application/x-ndjson' };
const CREATES = 100;
/** Longer than the buffers of the proxy, the program and the system together. */
const LONG_NAME = 'x'.repeat(50_000);
const LONG_PLANTS = 400;

type Headers = Readonly<Record<string, string | string[] | number | undefined>>;

interface Http2Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

async function readAnswer(stream: ClientHttp2Stream): Promise<Http2Answer> {
  const [headers] = (await once(stream, 'response')) as [Headers];
  return { status: Number(headers[':status']), headers, body: await text(stream) };
}

/** Proves it for one proxy. */
export function proveHttp2(name: ProxyName): void {
  describe(`a client of HTTP/2 in front of ${name}`, () => {
    let folder: ProgramFolder;
    let proxy: Proxy;
    let session: ClientHttp2Session;

    before(async () => {
      folder = await ProgramFolder.create();
      const program = folder.serve({ TRUST_PROXY: '1' });
      const { port } = new URL(await program.listening());
      proxy = await Proxy.start(name, folder, [Number(port)], { tls: true });
    });

    beforeEach(async () => {
      session = connect(proxy.origin, { ca: CERTIFICATE }).on('error', () => undefined);
      await once(session, 'connect');
      assert.equal(session.alpnProtocol, 'h2');
    });

    afterEach(() => session.destroy());

    after(async () => {
      await proxy.stop();
      await folder.remove();
    });

    function open(method: string, path: string, headers: Headers = {}): ClientHttp2Stream {
      const all = { authorization: `Bearer ${TOKEN}`, ...headers };
      return session.request(
        { ':method': method, ':path': path, ...all },
        { endStream: method === 'GET' },
      );
    }

    async function send(
      method: string,
      path: string,
      body = '',
      headers: Headers = JSON_TYPE,
    ): Promise<Http2Answer> {
      const stream = open(method, path, headers);
      if (method !== 'GET') stream.end(body);
      return await readAnswer(stream);
    }

    it('creates and reads many plants at a time on one connection', async () => {
      const ids = Array.from({ length: CREATES }, (_, index) => index + 1);
      const created = await Promise.all(
        ids.map((id) => send('POST', '/plants', `{"id":${id},"name":"n${id}"}`)),
      );
      assert.deepEqual(
        created.map(({ status, body }) => `${status} ${body}`),
        ids.map((id) => `200 {"name":"n${id}"}`),
      );
      const found = await Promise.all(ids.map((id) => send('GET', `/plants/${id}`)));
      assert.deepEqual(
        found.map(({ body }) => body),
        ids.map((id) => `{"id":${id},"name":"n${id}"}`),
      );
    });

    it('follows a page, and changes a plant by its ETag', async () => {
      const { headers } = await send('GET', '/plants?limit=1');
      const [, next = ''] = /^<(.*)>/.exec(String(headers.link)) ?? [];
      assert.equal((await send('GET', next)).body, '[{"id":2,"name":"n2"}]');
      const { etag } = (await send('GET', '/plants/2')).headers;
      const condition = { ...JSON_TYPE, 'if-match': etag };
      assert.equal((await send('PUT', '/plants/2', '{"name":"new"}', condition)).status, 200);
      assert.equal((await send('PUT', '/plants/2', '{"name":"new"}', condition)).status, 412);
    });

    it('gets errors in the shape of every other error', async () => {
      for (const [answer, code] of [
        [await send('GET', '/nothing'), 40400],
        [await send('POST', '/plants', '{}'), 40002],
        [await send('POST', '/plants', `{"id":1,"name":"${'x'.repeat(200_000)}"}`), 41300],
      ] as const) {
        assert.equal(answer.status, Math.floor(code / 100));
        assert.equal((JSON.parse(answer.body) as { error: number }).error, code);
      }
    });

    it('gets 43100 for long headers, or loses its connection', async () => {
      const headers = { 'x-long': 'x'.repeat(20_000) };
      const answer = await send('GET', '/plants/1', '', headers).catch(() => undefined);
      assert.equal(answer?.status, proxy.kind.endsConnections ? undefined : 431);
    });

    it('stores the lines of an import while it is sent', async () => {
      const stream = open('POST', '/plants/import', LINES_TYPE);
      const answer = readAnswer(stream);
      for (let id = 1_001; id <= 1_000 + LONG_PLANTS; id++) {
        const isTaken = stream.write(`{"id":${id},"name":"${LONG_NAME}"}\n`);
        if (!isTaken) await once(stream, 'drain');
      }
      await until(async () => (await send('GET', '/plants/1001')).status === 200);
      stream.end();
      const result = { created: LONG_PLANTS, identical: 0, failed: 0, failures: [] };
      assert.deepEqual(JSON.parse((await answer).body), result);
    });

    it('may leave an export, and goes on with its connection', async () => {
      const stream = open('GET', '/plants', { accept: 'application/x-ndjson' });
      await once(stream, 'data');
      stream.close();
      await once(stream, 'close');
      assert.equal((await send('GET', '/plants/1')).status, 200);
    });

    it('is refused with an upload without a token before its end', async () => {
      const stream = open('POST', '/plants', { ...JSON_TYPE, authorization: undefined });
      stream.on('error', () => undefined);
      const answer = once(stream, 'response') as Promise<[Headers]>;
      stream.write(Buffer.alloc(2 ** 20, ' '));
      assert.equal((await answer)[0][':status'], 401);
      stream.close();
    });
  });
}
