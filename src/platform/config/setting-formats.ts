import { isIPv4 } from 'node:net';
import proxyAddr from 'proxy-addr';

// The formats of settings: for each one the message for a wrong value, and the function that reads
// or checks a value.

/** Splits a comma-separated list into its entries, without blanks around them and without empty ones. */
export function splitList(list: string): string[] {
  return list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

export const TOKENS_RULE =
  'must be a comma-separated list of tokens in visible ASCII, or of digests like sha256:<64 hexadecimal digits> or <name>:sha256:<64 hexadecimal digits>';

/** The start of an entry of ACCESS_TOKENS that is a digest, with an optional name for the log. */
const DIGEST_START = /^(?:[\w.-]{1,64}:)?sha256:/i;
const DIGEST = /^(?:([\w.-]{1,64}):)?sha256:([0-9a-f]{64})$/i;
const VISIBLE_ASCII = /^[!-~]+$/;

/** The digest of a token, as the operator configures it. */
export interface TokenDigest {
  /** 64 hexadecimal digits. */
  readonly digits: string;
  /** The name of the owner, for the log. */
  readonly name: string | undefined;
}

export function isVisibleAscii(value: string): boolean {
  return VISIBLE_ASCII.test(value);
}

/** Whether this is a token or the digest of one. A malformed digest is neither. */
export function isTokenEntry(entry: string): boolean {
  return DIGEST_START.test(entry) ? DIGEST.test(entry) : isVisibleAscii(entry);
}

/** Parses an entry that is a digest; undefined if the entry is a token. */
export function parseTokenDigest(entry: string): TokenDigest | undefined {
  const [, name, digits] = DIGEST.exec(entry) ?? [];
  return digits === undefined ? undefined : { digits, name };
}

export const JWKS_URL_RULE =
  'must be an https URL without a user name, or an http one of a loopback address';

export function isJwksUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  return isSafe && username === '' && password === '';
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}

export const SCOPES_RULE = 'must be scopes separated by spaces';

/** RFC 6749 section 3.3. */
const SCOPE = /^[!#-[\]-~]+$/;

export function parseScopes(value: string): string[] {
  return value.split(' ').filter((scope) => scope !== '');
}

export function isScopeList(value: string): boolean {
  return parseScopes(value).every((scope) => SCOPE.test(scope));
}

export const RATE_RULE =
  'must be off, or a number of requests, a slash and a number of seconds, like 600/60';

/** A number of requests in a window of time. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

const RATE = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/;

/** Reads `off`, or up to 999999999 requests in up to 99999 seconds; undefined when it is neither. */
export function parseRate(value: string): Rate | 'off' | undefined {
  if (value === 'off') return value;
  const [, limit, seconds] = RATE.exec(value) ?? [];
  if (limit === undefined || seconds === undefined) return undefined;
  return { limit: Number(limit), windowMs: Number(seconds) * 1_000 };
}

export const DURATION_RULE = 'must be a number with s, m, h or d, like 12h or 7d';

const DURATION = /^([1-9]\d{0,7})([smhd])$/;
const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Parses a duration to milliseconds; undefined if it is not valid. */
export function parseDuration(value: string): number | undefined {
  const [, number, unit = ''] = DURATION.exec(value) ?? [];
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 0);
}

export const PROXIES_RULE =
  'must be the number of reverse proxies in front, or a comma-separated list of their addresses or subnets';

/** Parses a value of Express's setting "trust proxy"; undefined if Express would reject it. */
export function parseTrustedProxies(value: string): false | number | string[] | undefined {
  if (value === '') return false;
  const proxies = value.split(',').map((entry) => entry.trim());
  // proxy-addr takes a number among addresses for an IPv4 address.
  const numbers = proxies.filter((entry) => /^\d+$/.test(entry));
  if (numbers.length > 0) return proxies.length === 1 ? Number(numbers[0]) : undefined;
  try {
    proxyAddr.compile(proxies);
    return proxies;
  } catch {
    return undefined;
  }
}
