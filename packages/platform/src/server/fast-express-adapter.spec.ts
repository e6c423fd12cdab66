import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import express, { type Express, type Request, type Response } from 'express';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { addDefaultHeaders } from './default-headers.js';
import { FastExpressAdapter } from './fast-express-adapter.js';

/** Values of members of a request that read its headers, its socket and the application. */
const readMembers = (req: Request): object => ({
  get: [req.get('X-Thing'), req.get('nothing')],
  accepts: [req.accepts('json', 'html'), req.accepts('image/png')],
  query: req.query,
  protocol: req.protocol,
  ip: req.ip,
  fresh: req.fresh,
});

/** Answers to a response that has the default headers X-One and X-Two. */
const DEFAULT_ANSWERS: Record<string, (res: Response, adapter: FastExpressAdapter) => unknown> = {
  'end()': (res) => res.end('{}'),
  'reply()': (res, adapter) => adapter.reply(res, { a: 'é' }, 200),
  'one of them': (res) => res.set('x-two', '2').set('X-Three', '3').end(),
  'writeHead() with one of them': (res) => res.writeHead(200, 'Fine', { 'X-TWO': '2' }).end(),
  'writeHead() with a list': (res) => res.writeHead(200, ['X-Two', '2', 'X-Three', 'x-one']).end(),
};

/** Answers made with members of a response that use its request and the application. */
const RESPONSE_MEMBERS: Record<string, (res: Response) => unknown> = {
  send: (res) => res.send('<p>text</p>'),
  download: (res) => res.download('LICENSE', 'licence.txt', { root: process.cwd() }),
  format: (res) => res.format({ json: () => res.json(1), html: () => res.send('1') }),
  cookie: (res) => res.cookie('a', 'b', { httpOnly: true }).end(),
  redirect: (res) => res.redirect(303, '/there'),
};

function route(app: Express): Express {
  app.get('/request', (req, res) => {
    res.set('X-Linked', String(req.app === app && req.res === res)).json(readMembers(req));
  });
  app.get('/response/:member', (req, res) => {
    res.set('X-Linked', String(res.app === app && res.req === req && 'settings' in app.locals));
    RESPONSE_MEMBERS[req.params.member]?.(res);
  });
  app.get('/prototypes', (req, res) => {
    res.json([
      Object.getPrototypeOf(req) === req.constructor.prototype,
      Object.getPrototypeOf(res) === res.constructor.prototype,
    ]);
  });
  return app;
}

function stableServer(): Server {
  const adapter = new FastExpressAdapter(express());
  adapter.initHttpServer();
  const app = route(adapter.getInstance<Express>());
  app.get('/defaults/:answer', (req, res) => {
    addDefaultHeaders(res, 'X-One', '1', 'X-Two', '2');
    DEFAULT_ANSWERS[req.params.answer]?.(res, adapter);
  });
  return adapter.getHttpServer();
}

let plain: Server;
let stable: Server;

beforeAll(async () => {
  plain = createServer(route(express()));
  stable = stableServer();
  for (const server of [plain, stable]) await once(server.listen(0, '127.0.0.1'), 'listening');
});

afterAll(() => {
  for (const server of [plain, stable]) server.close().closeAllConnections();
});

async function request(server: Server, path: string): Promise<object> {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${String(port)}${path}?a=1&b=c`, {
    redirect: 'manual',
    headers: { 'X-Thing': 'thing', 'X-Requested-With': 'XMLHttpRequest', Range: 'bytes=0-9' },
  });
  const headers = Object.fromEntries(response.headers);
  delete headers.date;
  return { status: response.status, headers, body: await response.text() };
}

describe('FastExpressAdapter', () => {
  it('makes requests and responses that Express need not change', async () => {
    expect(await request(stable, '/prototypes')).toMatchObject({ body: '[true,true]' });
    expect(await request(plain, '/prototypes')).toMatchObject({ body: '[false,false]' });
  });

  it.each(['/request', ...Object.keys(RESPONSE_MEMBERS).map((member) => `/response/${member}`)])(
    'has the members of %s as plain Express has them',
    async (path) => {
      const answer = await request(stable, path);
      expect(answer).toEqual(await request(plain, path));
      expect(answer).toMatchObject({ headers: { 'x-linked': 'true' } });
    },
  );
});

describe('addDefaultHeaders()', () => {
  /** The lines of the head of an answer, and its body. */
  async function rawAnswer(request: string): Promise<{ lines: string[]; body: string }> {
    const { port } = stable.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1' }).end(`${request}\r\nHost: a\r\n\r\n`);
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    return { lines: head.split('\r\n'), body };
  }

  it.each(Object.keys(DEFAULT_ANSWERS))('gives an answer by %s each header once', async (name) => {
    const { lines } = await rawAnswer(`GET /defaults/${encodeURIComponent(name)} HTTP/1.1`);
    const names = lines.slice(1).map((line) => (line.split(':')[0] ?? '').toLowerCase());
    expect(names).toEqual([...new Set(names)]);
    expect(lines.join('\n')).toMatch(/^x-one: 1$[^]*^x-two: 2$|^x-two: 2$[^]*^x-one: 1$/im);
  });

  it.each([
    ['GET', '1.1', '{"a":"é"}'],
    ['GET', '1.0', '{"a":"é"}'],
    ['HEAD', '1.1', ''],
  ])(
    'states the length of what reply() answers to %s in HTTP/%s',
    async (method, version, text) => {
      const { lines, body } = await rawAnswer(`${method} /defaults/reply() HTTP/${version}`);
      expect(lines).toContain('Content-Type: application/json; charset=utf-8');
      expect(lines).toContain('Content-Length: 10');
      expect(body).toBe(text);
    },
  );
});

describe('the server', () => {
  let server: Server;

  beforeEach(async () => {
    const adapter = new FastExpressAdapter(express());
    adapter.initHttpServer();
    server = adapter.getHttpServer().removeAllListeners('request');
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });

  afterEach(() => {
    server.close().closeAllConnections();
  });

  function client(): Socket {
    return connect((server.address() as AddressInfo).port, '127.0.0.1');
  }

  it('checks its time limits each second instead of every 30 seconds', () => {
    const timers = Object.getOwnPropertySymbols(server)
      .filter(({ description }) => description === 'http.server.connectionsCheckingInterval')
      .map((name) => (server as unknown as Record<symbol, unknown>)[name]);
    expect(timers).toEqual([expect.objectContaining({ _repeat: 1_000 })]);
  });

  it('answers a client that has ended its side', async () => {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      request.socket.once('end', () => response.end('late'));
    });
    const socket = client().end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await text(socket)).toContain('late');
  });
});
