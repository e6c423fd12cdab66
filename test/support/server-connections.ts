import { jest } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { PlantsService } from '../../src/modules/plants/plants.service.js';
import type { TestApp } from './test-app.js';

/** Lists the sockets of the server from now on, in the order of their connections. */
export function listServerSockets(app: TestApp): Socket[] {
  const sockets: Socket[] = [];
  app.nest.getHttpServer().on('connection', (socket: Socket) => sockets.push(socket));
  return sockets;
}

/** Keeps creates waiting until they are released; counts those that have begun. */
export function holdCreates(app: TestApp): { begun: number; release: () => void } {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const state = { begun: 0, release };
  jest.spyOn(app.nest.get(PlantsService), 'create').mockImplementation(async () => {
    state.begun++;
    await held;
    return { name: 'held' };
  });
  return state;
}

/** Opens a connection whose errors do not matter. */
export function openSocket(port: number): Socket {
  return connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
}
