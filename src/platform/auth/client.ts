import type { Socket } from 'node:net';
import { toAddressKey } from './rate-limits.js';

/** Whom something is held for. Every bound is shared between names, and within a name between addresses. */
export interface Client {
  /** Stands for the last good token of the connection, or is the address where there is none. */
  readonly name: string;
  readonly address: string;
}

/** A request, or only its connection, whose address may be that of a proxy. */
interface RequestOrigin {
  readonly socket: Socket;
  readonly ip?: string | undefined;
}

const names = new WeakMap<Socket, string>();

/** @param name stands for a good token; undefined where the request has none */
export function nameClient(socket: Socket, name: string | undefined): void {
  if (name === undefined) names.delete(socket);
  else names.set(socket, name);
}

/** Finds out whose request it is. Takes microseconds, so it is left until something has to wait. */
export function getClient({ socket, ip = socket.remoteAddress }: RequestOrigin): Client {
  const address = toAddressKey(ip);
  return { name: names.get(socket) ?? address, address };
}
