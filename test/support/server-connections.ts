import { jest } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import type { TestApp } from './test-app.js';

/** Lists the sockets of the server from now on, in the order of their connections. */
export function listServerSockets(app: TestApp): Socket[] {
  const sockets: Socket[] = [];
  const server = app.nest.getHttpServer().setMaxListeners(0);
  server.on('connection', (socket: Socket) => sockets.push(socket));
  return sockets;
}

/** Keeps creates waiting until they are released. */
export function holdCreates(app: TestApp): { begun: number; readonly release: () => void } {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const creates = { begun: 0, release };
  jest.spyOn(app.nest.get(PlantsService), 'create').mockImplementation(async () => {
    creates.begun++;
    await held;
    return { name: 'held' };
  });
  return creates;
}

/** Opens a connection whose errors do not matter. */
export function openSocket(port: number): Socket {
  return connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
}
