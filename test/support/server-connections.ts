import type { Socket } from 'node:net';
import { until } from '../../packages/platform/src/testing/until.js';
import { ClientConnection } from './http/connection.js';
import type { TestApplication } from '../../packages/platform/src/testing/test-application.js';

/** Lists the sockets of the server from now on, in the order of their connections. */
export function listServerSockets(app: TestApplication): Socket[] {
  const sockets: Socket[] = [];
  const server = app.nest.getHttpServer().setMaxListeners(0);
  server.on('connection', (socket: Socket) => sockets.push(socket));
  return sockets;
}

/** Opens a connection, and sends each piece when the server has read the one before. */
export async function sendPieces(
  app: TestApplication,
  pieces: readonly string[],
): Promise<ClientConnection> {
  const sockets = listServerSockets(app);
  const client = new ClientConnection(app.port);
  let length = 0;
  for (const piece of pieces) {
    await client.write(piece);
    length += piece.length;
    await until(() => sockets[0]?.destroyed === true || sockets[0]?.bytesRead === length);
  }
  return client;
}
