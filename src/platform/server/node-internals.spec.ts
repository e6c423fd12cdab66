import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { configureNode, countSentBytes, destroyUnparsed, stopListening } from './node-internals.js';

let server: Server;
let port: number;

beforeEach(async () => {
  server = createServer();
  configureNode(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function client(): Socket {
  return connect({ port, host: '127.0.0.1' });
}

describe('configureNode()', () => {
  it('makes the server check its time limits each second instead of every 30 seconds', () => {
    const timers = Object.getOwnPropertySymbols(server)
      .filter(({ description }) => description === 'http.server.connectionsCheckingInterval')
      .map((name) => (server as unknown as Record<symbol, unknown>)[name]);
    expect(timers).toEqual([expect.objectContaining({ _repeat: 1_000 })]);
  });

  it('makes the server hand on a request without a Host header', async () => {
    client().write('GET / HTTP/1.1\r\n\r\n');
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    expect(request.url).toBe('/');
  });

  it('makes the server answer a client that has ended its side', async () => {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      request.socket.once('end', () => response.end('late'));
    });
    const socket = client().end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    let received = '';
    for await (const chunk of socket) received += String(chunk);
    expect(received).toContain('late');
  });
});

describe('stopListening()', () => {
  it('leaves an idle connection open, where close() ends it', async () => {
    server.on('request', (_: IncomingMessage, response: ServerResponse) => response.end());
    const socket = client();
    socket.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(socket, 'data');
    const stopped = stopListening(server);
    await expect(once(client(), 'connect')).rejects.toThrow('ECONNREFUSED');
    socket.write('GET /2 HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(String(await once(socket, 'data'))).toContain('200 OK');
    socket.destroy();
    await stopped;
  });
});

describe('countSentBytes()', () => {
  it('counts the bytes that the client or the system has taken, and not those that wait', async () => {
    const answer = 'x'.repeat(32 * 1024 * 1024);
    server.on('request', (_: IncomingMessage, response: ServerResponse) => response.end(answer));
    const socket = client().pause();
    const [accepted] = (await once(server, 'connection')) as [Socket];
    expect(countSentBytes(accepted)).toBe(0);
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(server, 'request');
    expect(countSentBytes(accepted)).toBeLessThan(answer.length);
    socket.resume();
    await once(accepted, 'drain');
    expect(countSentBytes(accepted)).toBeGreaterThan(answer.length);
    accepted.destroy();
    expect(countSentBytes(accepted)).toBe(0);
  });
});

describe('destroyUnparsed()', () => {
  const BODY =
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n';

  it('skips the rest of a body, but no later body that the same parser reads', async () => {
    const received: string[] = [];
    server.on('request', (request: IncomingMessage) => {
      request.on('data', (chunk: Buffer) => {
        received.push(String(chunk));
        if (received.length === 1) destroyUnparsed(request.socket);
      });
      request.on('end', () => server.emit('received'));
      request.on('error', () => undefined);
    });
    const first = client();
    first.write(BODY);
    await once(first, 'close');
    expect(received).toEqual(['a']);
    client().write(`${BODY}0\r\n\r\n`);
    await once(server, 'received');
    expect(received).toEqual(['a', 'a', 'b']);
  });
});
