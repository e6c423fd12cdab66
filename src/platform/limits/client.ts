import ipaddr from 'ipaddr.js';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** The longest address that is a key. Longer ones come only from a misconfigured trusted proxy. */
const MAX_KEY_LENGTH = 64;

/** An IPv4 address with a port, or an IPv6 address in brackets, perhaps with one. */
const WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$|^\[([^\]]*)\](?::\d+)?$/;

/** A client with IPv6 may have all addresses of a /56. */
const IPV6_KEY_BYTES = 56 / 8;

/**
 * Identifies the client for whom something is held or queued: the last valid token of its
 * connection, or its address if there was none.
 */
export type Client = string;

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
export function getClient(request: IncomingMessage & { readonly ip?: string | undefined }): Client {
  // Before Express, only the address of the connection is known, which may be that of a proxy.
  const { socket, ip = socket.remoteAddress } = request;
  return names.get(socket) ?? toAddressKey(ip);
}

/** Makes the key of a client from its address. */
export function toAddressKey(ip = ''): string {
  // Some proxies write the port too. ipaddr.js knows no names of interfaces with a hyphen or a dot.
  const plain = ip.replace(WITH_PORT, '$1$2').replace(/%.*$/, '');
  if (!ipaddr.IPv6.isValid(plain)) return plain.slice(0, MAX_KEY_LENGTH);
  const address = ipaddr.process(plain);
  return address.kind() === 'ipv4'
    ? address.toString()
    : address.toByteArray().slice(0, IPV6_KEY_BYTES).join('.');
}
