import type { Socket } from 'node:net';
import { toAddressKey } from './rate-limits.js';

/**
 * The client for whom something is held or queued. Every bound is shared fairly between names, and
 * within a name between addresses.
 */
export interface Client {
  /** Identifies the last valid token of the connection; the address if there was none. */
  readonly name: string;
  readonly address: string;
}

/** A request, or only its connection, whose address may be that of a proxy. */
interface RequestOrigin {
  readonly socket: Socket;
  readonly ip?: string | undefined;
}

const names = new WeakMap<Socket, string>();

/** @param name identifies a valid token; undefined if the request has none */
export function nameClient(socket: Socket, name: string | undefined): void {
  if (name === undefined) names.delete(socket);
  else names.set(socket, name);
}

/**
 * Identifies the client of a request. Takes microseconds, so callers call it only when something
 * has to wait.
 */
export function getClient({ socket, ip = socket.remoteAddress }: RequestOrigin): Client {
  const address = toAddressKey(ip);
  return { name: names.get(socket) ?? address, address };
}
