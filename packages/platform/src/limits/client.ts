import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { isIP, SocketAddress } from 'node:net';

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
  const plain = removePort(ip);
  const address = parseAddress(plain);
  if (address === undefined) return plain.slice(0, MAX_KEY_LENGTH);
  return address.kind() === 'ipv4'
    ? address.toString()
    : address.toByteArray().slice(0, IPV6_KEY_BYTES).join('.');
}

/** Returns an address in its usual form (RFC 5952); undefined if a proxy has written other text. */
export function toLoggedAddress(ip = ''): string | undefined {
  const address = parseAddress(removePort(ip));
  if (address === undefined) return undefined;
  return new SocketAddress({ address: address.toString(), family: address.kind() }).address;
}

/** Some proxies write the port too. ipaddr.js knows no names of interfaces with a hyphen or a dot. */
function removePort(ip: string): string {
  return ip.replace(WITH_PORT, '$1$2').replace(/%.*$/, '');
}

/** An IPv4 address in IPv6 becomes an IPv4 address. */
function parseAddress(plain: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // ipaddr.js takes a number for an address of IPv4.
  if (isIP(plain) === 0 || !ipaddr.isValid(plain)) return undefined;
  return ipaddr.process(plain);
}
