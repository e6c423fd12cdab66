import ipaddr from 'ipaddr.js';
import type { Request } from 'express';

/** The longest address that is a key. Longer ones come only from a misconfigured trusted proxy. */
const MAX_KEY_LENGTH = 64;

/** An IPv4 address with a port, or an IPv6 address in brackets, perhaps with one. */
const WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$|^\[([^\]]*)\](?::\d+)?$/;

/** A client with IPv6 may have all addresses of a /56. */
const IPV6_KEY_BYTES = 56 / 8;

/**
 * Identifies the client for whom something is held or queued: the valid token of the request, or
 * the address if there is none.
 */
export type Client = string;

/** What {@link getClient} reads of a request. */
export type ClientRequest = Pick<Request, 'state' | 'ip'>;

/**
 * Identifies the client of a request. Takes microseconds, so callers call it only when something
 * has to wait.
 */
export function getClient({ state, ip }: ClientRequest): Client {
  return state.client ?? toAddressKey(ip);
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
