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

/** Calls that wait until they are released. */
export interface HeldCalls {
  /** How many calls have begun. */
  begun: number;
  readonly release: () => void;
}

/** Keeps the calls of a method waiting until they are released, and then gives this result. */
function holdCalls<Result>(
  method: { mockImplementation: (work: () => Promise<Result>) => unknown },
  result: Result,
): HeldCalls {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const calls = { begun: 0, release };
  method.mockImplementation(async () => {
    calls.begun++;
    await held;
    return result;
  });
  return calls;
}

/** Keeps creates waiting until they are released. */
export function holdCreates(app: TestApp): HeldCalls {
  return holdCalls(jest.spyOn(app.nest.get(PlantsService), 'create'), { name: 'held' });
}

/** Opens a connection whose errors do not matter. */
export function openSocket(port: number): Socket {
  return connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
}
