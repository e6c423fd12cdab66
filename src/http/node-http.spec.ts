import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { configureNode } from './node-http.js';

let server: Server;

beforeEach(async () => {
  server = createServer();
  configureNode(server);
  server.headersTimeout = 100;
  await once(server.listen(0, '127.0.0.1'), 'listening');
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function client(): Socket {
  return connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
}

describe('what is set on the inside of a server of Node', () => {
  it('makes it look at its time limits each second, where it looks twice a minute', async () => {
    client().write('GET / HTTP/1.1\r\n');
    const [error] = (await once(server, 'clientError')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ERR_HTTP_REQUEST_TIMEOUT');
  });

  it('makes it hand on a request without a Host header, where it answers without a body', async () => {
    client().write('GET / HTTP/1.1\r\n\r\n');
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    expect(request.url).toBe('/');
  });

  it('makes it answer a client that has ended its side, where it closes the connection', async () => {
    server.on('request', (_: IncomingMessage, response: ServerResponse) => {
      setTimeout(() => response.end('late'), 20);
    });
    const socket = client().end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    let received = '';
    for await (const chunk of socket) received += String(chunk);
    expect(received).toContain('late');
  });
});
