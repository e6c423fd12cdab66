import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hash } from 'node:crypto';
import { TOKEN, until } from 'durable-rest/testing';
import { PlantErrors } from '../fixtures/plants.module.js';
import { recordLog } from '../support/record-log.js';
import { exchange } from '../support/http/connection.js';
import { TestApp } from '../support/fixture-app.js';
import { TokenIssuer } from '../support/token-issuer.js';

const NAMED = ['the-first-of-garden-app', 'the-second-of-garden-app'];
const NAMED_ENTRIES = NAMED.map((token) => `garden-app:sha256:${hash('sha256', token)}`);
const LONG = 'x'.repeat(100);

type Line = Record<string, unknown>;

const app = TestApp.forAll({ ACCESS_TOKENS: [TOKEN, ...NAMED_ENTRIES].join() });
const issuer = await TokenIssuer.start();
afterAll(() => issuer.stop());

/** With an identity provider. */
const other = TestApp.forAll(issuer.env);
/** The lines of the logs of both. */
let lines: string[];
let otherLines: string[];

beforeAll(() => {
  lines = recordLog(app, 'info');
  otherLines = recordLog(other, 'debug');
});

/** Waits for the line of a request. */
async function lineWith(requestId: string, member = 'path', log = lines): Promise<Line> {
  const isIt = (line: string): boolean =>
    line.includes(`"requestId":"${requestId}"`) && line.includes(`"${member}"`);
  await until(() => log.some(isIt));
  return JSON.parse(log.find(isIt) ?? '') as Line;
}

describe('the log', () => {
  it('has one line for a request, with its id, method, path, status and duration', async () => {
    const headers = { ...app.authorization, 'X-Request-Id': 'request-1' };
    await app.post(`/plants?token=${TOKEN}`, '{"id":1,"name":"private name"}', headers);
    expect(await lineWith('request-1')).toEqual({
      level: 30,
      time: expect.any(Number),
      requestId: 'request-1',
      method: 'POST',
      path: '/plants',
      status: 200,
      ms: expect.any(Number),
      msg: 'POST /plants 200',
    });
    expect(lines.filter((line) => line.includes('request-1'))).toHaveLength(1);
  });

  it('names the client of a token with a name, and the code of a failure', async () => {
    const create = async (requestId: string, token: string, name: string): Promise<unknown> => {
      const headers = { Authorization: `Bearer ${token}`, 'X-Request-Id': requestId };
      await app.create(JSON.stringify({ id: 2, name }), headers);
      return await lineWith(requestId);
    };
    const [first = '', second = ''] = NAMED;
    const client = 'garden-app';
    expect(await create('named-1', first, 'n')).toMatchObject({ client, status: 200 });
    const msg = 'POST /plants 409';
    const { error } = PlantErrors.ALREADY_EXISTS;
    expect(await create('named-2', second, 'n')).toMatchObject({ client, error, msg });
    const refused = await create('unknown', 'another', 'n');
    expect(refused).toMatchObject({ status: 401, error: 40101 });
    expect(refused).not.toHaveProperty('client');
    expect(await create('unnamed', TOKEN, 'n')).not.toHaveProperty('client');
  });

  it('has no line at info for a probe or a scrape that succeeds', async () => {
    for (const path of ['/health/live', '/health/ready', '/metrics']) {
      const { status } = await app.get(path, { 'X-Request-Id': 'probe' });
      expect([path, status]).toEqual([path, 200]);
    }
    await app.request('GET', '/metrics', { headers: { 'X-Request-Id': 'failed' } });
    expect(await lineWith('failed')).toMatchObject({ path: '/metrics', error: 40100 });
    expect(lines.join()).not.toContain('probe');
  });

  it('names the trace that the client belongs to, if its traceparent is valid', async () => {
    const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
    const span_id = '00f067aa0ba902b7';
    const ids = `${trace_id}-${span_id}-01`;
    for (const [index, traceparent] of [`00-${ids}`, `cc-${ids}-of-the-future`].entries()) {
      await app.get('/plants', { 'X-Request-Id': `traced-${index}`, traceparent });
      const line = await lineWith(`traced-${index}`);
      expect({ traceparent, ...line }).toMatchObject({ traceparent, trace_id, span_id });
    }
    const zeros = `${'0'.repeat(32)}-${span_id}-01`;
    const invalid = [`00-${ids}!`, `00-${ids}-more`, `cc-${ids}.more`, `ff-${ids}`, `00-${zeros}`];
    for (const [index, traceparent] of invalid.entries()) {
      await app.get('/plants', { 'X-Request-Id': `untraced-${index}`, traceparent });
      const { trace_id: logged } = await lineWith(`untraced-${index}`);
      expect([traceparent, logged]).toEqual([traceparent, undefined]);
    }
  });

  it('has a line for input that is not HTTP', async () => {
    const [answer] = await exchange(app.port, 'nonsense\r\n\r\n');
    const requestId = answer?.headers['x-request-id'] ?? '';
    const msg = 'The request is not well-formed HTTP';
    expect(await lineWith(requestId, 'msg')).toMatchObject({ status: 400, error: 40000, msg });
  });

  it('is one JSON object a line, whatever clients send, and holds no body, token or query', async () => {
    const id = 'a\\n{"level":60}';
    const target = '/%0a{"level":60,"msg":"forged"}';
    await exchange(
      app.port,
      `GET ${target} HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${id}\r\nConnection: close\r\n\r\n`,
    );
    await exchange(
      app.port,
      `GET http://me:private@host/x?private HTTP/1.1\r\nHost: a\r\nX-Request-Id: absolute\r\nConnection: close\r\n\r\n`,
    );
    expect(await lineWith('absolute')).toMatchObject({ path: '/x', msg: 'GET /x 404' });
    await app.get('/last', { 'X-Request-Id': 'request-2' });
    await lineWith('request-2');
    for (const line of lines) {
      expect(line.indexOf('\n')).toBe(line.length - 1);
      expect(JSON.parse(line)).toMatchObject({ level: 30 });
    }
    expect(lines.join()).not.toContain(TOKEN);
    expect(lines.join()).not.toContain('private name');
  });
});

describe('the log of a program with an identity provider', () => {
  it.each([
    ['client_id', { client_id: 'app', azp: 'other' }, { client: 'app', sub: 'gardener' }],
    ['azp', { azp: 'app' }, { client: 'app', sub: 'gardener' }],
    ['long', { client_id: LONG, sub: LONG }, { client: LONG.slice(0, 64), sub: LONG.slice(0, 64) }],
    ['neither', { azp: 7, sub: undefined }, {}],
  ])('names the client and the subject of a good token: %s', async (id, claims, expected) => {
    const Authorization = `Bearer ${await issuer.token(claims)}`;
    await other.get('/plants', { Authorization, 'X-Request-Id': id });
    const { client, sub } = await lineWith(id, 'path', otherLines);
    expect({ client, sub }).toEqual({ client: undefined, sub: undefined, ...expected });
  });

  it('says at debug why a token is refused', async () => {
    const Authorization = `Bearer ${await issuer.token({ exp: 1 })}`;
    await other.get('/plants', { Authorization, 'X-Request-Id': 'expired' });
    expect(await lineWith('expired', 'reason', otherLines)).toMatchObject({
      level: 20,
      reason: 'expired',
    });
  });

  it.each([
    ['', undefined],
    ['0', '127.0.0.1'],
    ['1', '203.0.113.7'],
  ])('has, with TRUST_PROXY="%s", the client address %s', async (TRUST_PROXY, clientAddress) => {
    const proxied = await TestApp.start({ TRUST_PROXY });
    const recorded = recordLog(proxied, 'info');
    const headers = { 'X-Forwarded-For': 'forged, 203.0.113.7', 'X-Request-Id': 'client' };
    await proxied.get('/plants', headers);
    expect((await lineWith('client', 'path', recorded)).clientAddress).toBe(clientAddress);
    await proxied.close();
  });

  it('has the address that limits use, without a port, and no other text', async () => {
    const proxied = await TestApp.start({ TRUST_PROXY: '1' });
    const recorded = recordLog(proxied, 'info');
    const expected = {
      '203.0.113.7:4711': '203.0.113.7',
      '::ffff:203.0.113.7': '203.0.113.7',
      '[2001:DB8:0:0::1]:4711': '2001:db8::1',
      '[2001:db8:0:1::1]': '2001:db8:0:1::1',
      'fe80::1%eth0': 'fe80::1',
      unknown: undefined,
      '7': undefined,
      '203.0.113.256': undefined,
      '0x7f.1': undefined,
      '<script>': undefined,
    };
    const logged: [string, unknown][] = [];
    for (const [index, sent] of Object.keys(expected).entries()) {
      const id = `address-${index}`;
      await proxied.get('/plants', { 'X-Forwarded-For': sent, 'X-Request-Id': id });
      logged.push([sent, (await lineWith(id, 'path', recorded)).clientAddress]);
    }
    await proxied.close();
    expect(Object.fromEntries(logged)).toEqual(expected);
  });
});
