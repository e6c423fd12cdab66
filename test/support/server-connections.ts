import type { Socket } from 'node:net';
import type { TestApp } from './test-app.js';

/** Lists the sockets of the server from now on, in the order of their connections. */
export function listServerSockets(app: TestApp): Socket[] {
  const sockets: Socket[] = [];
  const server = app.nest.getHttpServer().setMaxListeners(0);
  server.on('connection', (socket: Socket) => sockets.push(socket));
  return sockets;
}
