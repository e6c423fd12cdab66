import { Logger } from '@nestjs/common';
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Env } from '../config/env.js';
import { parseTokenDigest } from '../config/setting-formats.js';
import { FULL_ACCESS, type Grant, READ_ACCESS } from './permissions.js';

/** Tokens with fewer characters may be guessed. */
const MIN_TOKEN_LENGTH = 16;

interface KnownToken {
  readonly digest: Buffer;
  readonly grant: Grant;
}

/** The static tokens that the service accepts. Only their SHA-256 digests are kept. */
export class AccessTokens {
  private readonly tokens: readonly KnownToken[];

  /**
   * @param entries the entries of ACCESS_TOKENS: tokens, or digests with an optional name
   * @param readEntries the entries of READ_ACCESS_TOKENS
   * @param developmentToken a further token, for a development start without configured tokens
   */
  constructor(
    entries: readonly string[],
    readEntries: readonly string[],
    readonly developmentToken?: string,
  ) {
    const all = developmentToken === undefined ? entries : [...entries, developmentToken];
    this.tokens = [
      ...readEntries.map((entry) => readEntry(entry, READ_ACCESS)),
      ...all.map((entry) => readEntry(entry, FULL_ACCESS)),
    ];
  }

  get count(): number {
    return this.tokens.length;
  }

  /**
   * Looks up what a token allows; undefined for an unknown token. Takes the same time for every
   * token.
   */
  find(digest: Buffer): Grant | undefined {
    let found: Grant | undefined;
    for (const token of this.tokens) {
      if (timingSafeEqual(digest, token.digest)) found = token.grant;
    }
    return found;
  }
}

/** Creates a development token only if neither a token nor an identity provider is configured. */
export function createAccessTokens(env: Env): AccessTokens {
  const { ACCESS_TOKENS: entries, READ_ACCESS_TOKENS: readEntries } = env;
  if (entries.length + readEntries.length === 0 && env.AUTH_JWKS_URL === undefined) {
    return new AccessTokens([], [], env.DEVELOPMENT_TOKEN ?? createToken());
  }
  if (env.NODE_ENV === 'production') warnOfShortTokens([...entries, ...readEntries]);
  return new AccessTokens(entries, readEntries);
}

function warnOfShortTokens(entries: readonly string[]): void {
  const isShort = (entry: string): boolean =>
    entry.length < MIN_TOKEN_LENGTH && parseTokenDigest(entry) === undefined;
  const count = entries.filter(isShort).length;
  if (count === 0) return;
  new Logger('Auth').warn(
    `Configured tokens with fewer than ${MIN_TOKEN_LENGTH} characters, which may be guessed: ${count}. npm run new:token makes random ones`,
  );
}

function readEntry(entry: string, access: Grant): KnownToken {
  const digest = parseTokenDigest(entry);
  if (digest === undefined) return { digest: digestToken(entry), grant: access };
  const { digits, name } = digest;
  const grant = name === undefined ? access : { ...access, caller: { client: name } };
  return { digest: Buffer.from(digits, 'hex'), grant };
}

/** Creates a token of 256 random bits. */
export function createToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Computes the SHA-256 digest of a token, which is kept in place of the token. */
export function digestToken(token: string): Buffer {
  // Tokens are ASCII (RFC 6750 section 2.1).
  return hash('sha256', token, 'buffer');
}
