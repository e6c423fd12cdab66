import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { exchange } from '../support/http/connection.js';
import type { Program } from '../support/program.js';
import { ProgramFolder } from '../support/program-folder.js';
import { TokenIssuer } from '../support/token-issuer.js';

const SECRET = 'do-not-log-me';
const NAMED = ['the-first-of-garden-app', 'the-second-of-garden-app'];
const NAMED_ENTRIES = NAMED.map((token) => `garden-app:sha256:${hash('sha256', token)}`);
const LONG = 'x'.repeat(100);

let folder: ProgramFolder;
let issuer: TokenIssuer;
let program: Program;
let url: string;
/** Behind a proxy, with an identity provider. */
let other: Program;
let otherUrl: string;

beforeAll(async () => {
  folder = await ProgramFolder.create();
  issuer = await TokenIssuer.start();
  program = folder.start({ ACCESS_TOKENS: [SECRET, ...NAMED_ENTRIES].join() });
  const env = { LOG_LEVEL: 'debug', DATABASE_URL: 'sqlite::memory:', TRUST_PROXY: '1' };
  other = folder.start({ ...issuer.env, ...env });
  url = await program.listening();
  otherUrl = await other.listening();
});

afterAll(async () => {
  await issuer.stop();
  await folder.remove();
});

async function lineWith(requestId: string): Promise<Record<string, unknown>> {
  const [line] = await program.printed(new RegExp(`^.*"requestId":"${requestId}".*$`, 'm'));
  return JSON.parse(line) as Record<string, unknown>;
}

describe('the log', () => {
  it('has one line for a request, with its id, method, path, status and duration', async () => {
    const headers = {
      Authorization: `Bearer ${SECRET}`,
      'Content-Type': 'application/json',
      'X-Request-Id': 'request-1',
    };
    const body = '{"id":1,"name":"private name"}';
    await fetch(`${url}/plants?token=${SECRET}`, { method: 'POST', headers, body });
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
    expect(program.output.match(/request-1/g)).toHaveLength(1);
  });

  it('names the client of a token with a name, and the code of a failure', async () => {
    const create = async (requestId: string, token: string, name: string): Promise<unknown> => {
      const headers = {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        'X-Request-Id': requestId,
      };
      const body = JSON.stringify({ id: 2, name });
      await fetch(`${url}/plants`, { method: 'POST', headers, body });
      return await lineWith(requestId);
    };
    const [first = '', second = ''] = NAMED;
    const client = 'garden-app';
    expect(await create('named-1', first, 'n')).toMatchObject({ client, status: 200 });
    const msg = 'POST /plants 409';
    expect(await create('named-2', second, 'n')).toMatchObject({ client, error: 40901, msg });
    expect(await create('named-3', first, 'o')).toMatchObject({ client, error: 40900, msg });
    const refused = await create('unknown', 'another', 'n');
    expect(refused).toMatchObject({ status: 401, error: 40101 });
    expect(refused).not.toHaveProperty('client');
    expect(await create('unnamed', SECRET, 'n')).not.toHaveProperty('client');
  });

  it('has no line at info for a probe or a scrape that succeeds', async () => {
    const headers = { Authorization: `Bearer ${SECRET}`, 'X-Request-Id': 'probe' };
    for (const path of ['/health/live', '/health/ready', '/metrics']) {
      expect(await fetch(url + path, { headers })).toMatchObject({ status: 200 });
    }
    await fetch(`${url}/metrics`, { headers: { 'X-Request-Id': 'failed' } });
    expect(await lineWith('failed')).toMatchObject({ path: '/metrics', error: 40100 });
    expect(program.output).not.toContain('probe');
  });

  it('names the trace that the client belongs to, if its traceparent is valid', async () => {
    const trace_id = '4bf92f3577b34da6a3ce929d0e0e4736';
    const span_id = '00f067aa0ba902b7';
    const traceparent = `00-${trace_id}-${span_id}-01`;
    await fetch(`${url}/plants`, { headers: { 'X-Request-Id': 'traced', traceparent } });
    expect(await lineWith('traced')).toMatchObject({ status: 401, trace_id, span_id });
    await fetch(url, { headers: { 'X-Request-Id': 'untraced', traceparent: `${traceparent}!` } });
    expect(await lineWith('untraced')).not.toHaveProperty('trace_id');
  });

  it('has a line for input that is not HTTP', async () => {
    const port = Number(new URL(url).port);
    const received = await exchange(port, 'nonsense\r\n\r\n');
    const [, requestId = ''] = /X-Request-Id: (\S+)/.exec(received) ?? [];
    expect(await lineWith(requestId)).toMatchObject({
      level: 30,
      status: 400,
      error: 40000,
      msg: 'The request is not well-formed HTTP',
    });
  });

  it('is one JSON object a line, whatever clients send, and holds no body, token or query', async () => {
    const lines = [
      'GET /%0a{"level":60,"msg":"forged"} HTTP/1.1',
      'Host: a',
      'X-Request-Id: a\\n{"level":60}',
      'Connection: close',
    ];
    await exchange(Number(new URL(url).port), `${lines.join('\r\n')}\r\n\r\n`);
    await fetch(`${url}/last`, { headers: { 'X-Request-Id': 'request-2' } });
    await lineWith('request-2');
    for (const line of program.output.trimEnd().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({ level: 30 });
    }
    expect(program.output).not.toContain(SECRET);
    expect(program.output).not.toContain('private name');
  });

  it('logs nothing at info for a client that disconnects while it uploads', async () => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' });
    socket.write(
      `POST /plants HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${SECRET}\r\nContent-Type: application/json\r\nContent-Length: 50\r\nX-Request-Id: aborted\r\nExpect: 100-continue\r\n\r\n`,
    );
    await once(socket, 'data');
    socket.resetAndDestroy();
    await fetch(url, { headers: { 'X-Request-Id': 'request-3' } });
    await lineWith('request-3');
    expect(program.output).not.toContain('aborted');
  });
});

describe('the log of requests with JWTs', () => {
  async function read(requestId: string, claims: object): Promise<void> {
    const Authorization = `Bearer ${await issuer.token(claims)}`;
    const headers = { Authorization, 'X-Request-Id': requestId };
    await fetch(`${otherUrl}/plants`, { headers });
  }

  it.each([
    ['client_id', { client_id: 'app', azp: 'other' }, { client: 'app', sub: 'gardener' }],
    ['azp', { azp: 'app' }, { client: 'app', sub: 'gardener' }],
    ['long', { client_id: LONG, sub: LONG }, { client: LONG.slice(0, 64), sub: LONG.slice(0, 64) }],
    ['neither', { azp: 7, sub: undefined }, {}],
  ])('names the client and the subject of a good one: %s', async (name, claims, expected) => {
    await read(name, claims);
    const [line] = await other.printed(new RegExp(`^.*"requestId":"${name}".*"path".*$`, 'm'));
    const { client, sub } = JSON.parse(line) as Record<string, unknown>;
    expect({ client, sub }).toEqual({ client: undefined, sub: undefined, ...expected });
  });

  it('says at debug why one is refused', async () => {
    await read('expired', { exp: 1 });
    const [line] = await other.printed(/^.*"requestId":"expired".*"reason".*$/m);
    expect(JSON.parse(line)).toMatchObject({ level: 20, reason: 'expired' });
  });
});

describe('the address of the client in the log', () => {
  it('is the one that the last trusted proxy names, cut to 64 characters', async () => {
    for (const [id, forwardedFor, clientAddress] of [
      ['client-1', 'forged, 203.0.113.7', '203.0.113.7'],
      ['client-2', LONG, LONG.slice(0, 64)],
    ] as const) {
      const headers = { 'X-Forwarded-For': forwardedFor, 'X-Request-Id': id };
      await fetch(otherUrl, { headers, redirect: 'manual' });
      const [line] = await other.printed(new RegExp(`^.*"requestId":"${id}".*$`, 'm'));
      expect(JSON.parse(line)).toMatchObject({ clientAddress });
    }
  });
});
