import { isFQDN } from 'class-validator';
import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import proxyAddr from 'proxy-addr';
import type { Format } from './setting.decorators.js';

export const ANY_TEXT: Format<string> = { must: 'may be any text', parse: (text) => text };

/**
 * The format of a setting that is one of several words, such as `on` and `off`.
 *
 * @example
 * ```ts
 * class BedsSettings {
 *   @Setting(oneOfWords(['on', 'off']), 'off')
 *   readonly BEDS_HEATING!: 'on' | 'off';
 * }
 * ```
 */
export function oneOfWords<const Word extends string>(words: readonly Word[]): Format<Word> {
  return {
    must: `must be one of ${words.join(', ')}`,
    parse: (text) => words.find((word) => word === text),
  };
}

/**
 * The format of a setting that is an integer from `min` to `max`, written in digits.
 *
 * @param min 0 or more
 * @param max at most `Number.MAX_SAFE_INTEGER`
 * @example
 * ```ts
 * class BedsSettings {
 *   @Setting(wholeNumber(1, 1_000), '20')
 *   readonly BEDS_MAX_PLANTS!: number;
 * }
 * ```
 */
export function wholeNumber(min: number, max: number): Format<number> {
  return {
    must: `must be a whole number from ${min} to ${max}`,
    parse: (text) => {
      const number = /^\d+$/.test(text) ? Number(text) : NaN;
      return number >= min && number <= max ? number : undefined;
    },
  };
}

export const HOST: Format<string> = {
  must: 'must be an IP address or a host name',
  parse: (text) => {
    const isHost = isIP(text) !== 0 || isFQDN(text, { require_tld: false });
    return isHost ? text : undefined;
  },
};

export const ORIGINS: Format<string[]> = {
  must: 'must be a comma-separated list of origins like https://example.com',
  parse: (text) =>
    parseList(text, (entry) =>
      URL.canParse(entry) && new URL(entry).origin === entry ? entry : undefined,
    ),
};

/** Parses a comma-separated list. Blanks around its entries, and empty entries, do not count. */
function parseList<Value>(
  text: string,
  parseEntry: (entry: string) => Value | undefined,
): Value[] | undefined {
  const entries = text.split(',').map((entry) => entry.trim());
  const values = entries.filter((entry) => entry !== '').map(parseEntry);
  return values.includes(undefined) ? undefined : (values as Value[]);
}

export const VISIBLE_ASCII: Format<string> = {
  must: 'must be in visible ASCII',
  parse: (text) => (/^[!-~]+$/.test(text) ? text : undefined),
};

/** One or more segments of unreserved characters (RFC 3986 section 2.3), or nothing. */
export const PATH_SEGMENTS: Format<string> = {
  must: 'must be a path like /api or /garden/v1, without a slash at its end, of letters, digits and - . _ ~',
  parse: (text) => (/^(?:\/(?!\.\.?(?:\/|$))[\w.~-]+)*$/.test(text) ? text : undefined),
};

/** A token that clients may use. Only its digest is kept. */
export interface ConfiguredToken {
  /** SHA-256. */
  readonly digest: Buffer;
  /** The name of the owner, for the log. */
  readonly name?: string | undefined;
  /** The number of characters, if the setting has the token itself. */
  readonly length?: number;
}

/** Tokens, and digests of tokens. */
export const TOKENS: Format<ConfiguredToken[]> = {
  must: 'must be a comma-separated list of tokens in visible ASCII, or of digests like sha256:<64 hexadecimal digits> or <name>:sha256:<64 hexadecimal digits>',
  parse: (text) => parseList(text, parseToken),
};

const DIGEST_START = /^(?:[\w.-]{1,64}:)?sha256:/i;
const DIGEST = /^(?:([\w.-]{1,64}):)?sha256:([0-9a-f]{64})$/i;

/** Parses a token, or the digest of one with an optional name. A malformed digest is neither. */
export function parseToken(entry: string): ConfiguredToken | undefined {
  const [, name, digits] = DIGEST.exec(entry) ?? [];
  if (digits !== undefined) return { digest: Buffer.from(digits, 'hex'), name };
  if (DIGEST_START.test(entry) || VISIBLE_ASCII.parse(entry) === undefined) return undefined;
  return { digest: digestToken(entry), length: entry.length };
}

/** Computes the SHA-256 digest of a token, which is kept instead of the token. */
export function digestToken(token: string): Buffer {
  // Tokens are ASCII (RFC 6750 section 2.1).
  return hash('sha256', token, 'buffer');
}

/** The host of a URL, in which an IPv4 address always has four decimal numbers. */
const LOOPBACK = /^(?:localhost|\[::1\]|127(?:\.\d+){3})$/;

export const JWKS_URL: Format<URL> = {
  must: 'must be an https URL without a user name, or an http one of a loopback address',
  parse: (text) => {
    if (!URL.canParse(text)) return undefined;
    const url = new URL(text);
    const { protocol, hostname, username, password } = url;
    const isSafe = protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
    return isSafe && username === '' && password === '' ? url : undefined;
  },
};

/** RFC 6749 section 3.3. */
const SCOPE = /^[!#-[\]-~]+$/;

export const SCOPES: Format<string[]> = {
  must: 'must be scopes separated by spaces',
  parse: (text) => {
    const scopes = text.split(' ').filter((scope) => scope !== '');
    return scopes.every((scope) => SCOPE.test(scope)) ? scopes : undefined;
  },
};

/** A number of requests in a window of time. */
export interface Rate {
  readonly limit: number;
  readonly windowMs: number;
}

/** `off`, or up to 999999999 requests in up to 99999 seconds. */
export const RATE: Format<Rate | 'off'> = {
  must: 'must be off, or a number of requests, a slash and a number of seconds, like 600/60',
  parse: (text) => {
    if (text === 'off') return text;
    const [, limit, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/.exec(text) ?? [];
    if (limit === undefined) return undefined;
    return { limit: Number(limit), windowMs: Number(seconds) * 1_000 };
  },
};

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** A duration, read as milliseconds. */
export const DURATION: Format<number> = {
  must: 'must be a number with s, m, h or d, like 12h or 7d',
  parse: (text) => {
    const [, number, unit = ''] = /^([1-9]\d{0,7})([smhd])$/.exec(text) ?? [];
    return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? 0);
  },
};

/** The value of Express's setting "trust proxy". */
export const PROXIES: Format<number | string[]> = {
  must: 'must be the number of reverse proxies in front, or a comma-separated list of their addresses or subnets',
  parse: (text) => {
    const proxies = text.split(',').map((entry) => entry.trim());
    // proxy-addr takes a number among addresses for an IPv4 address.
    const numbers = proxies.filter((entry) => /^\d+$/.test(entry));
    if (numbers.length > 0) return proxies.length === 1 ? Number(numbers[0]) : undefined;
    try {
      proxyAddr.compile(proxies);
      return proxies;
    } catch {
      return undefined;
    }
  },
};
