import { Injectable, Logger } from '@nestjs/common';
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Env } from '../config/env.js';
import { type ConfiguredToken, digestToken } from '../config/setting-formats.js';
import type { Grant } from './permissions.js';

/** Tokens with fewer characters may be guessed. */
export const MIN_TOKEN_LENGTH = 16;

interface KnownToken {
  readonly digest: Buffer;
  readonly grant: Grant;
}

/** The static tokens that the service accepts. */
@Injectable()
export class AccessTokens {
  /** The only token if neither a token nor an identity provider is configured. */
  readonly developmentToken: string | undefined;

  private readonly tokens: readonly KnownToken[];

  constructor(env: Env) {
    const { ACCESS_TOKENS, READ_ACCESS_TOKENS, AUTH_JWKS_URL, DEVELOPMENT_TOKEN, NODE_ENV } = env;
    const configured = [...READ_ACCESS_TOKENS, ...ACCESS_TOKENS];
    if (configured.length === 0 && AUTH_JWKS_URL === undefined) {
      this.developmentToken = DEVELOPMENT_TOKEN ?? createToken();
      this.tokens = [grantAccess({ digest: digestToken(this.developmentToken) }, false)];
      return;
    }
    if (NODE_ENV === 'production') warnOfShortTokens(configured);
    // Of a token in both lists, the later grant counts, with which it may write.
    this.tokens = [
      ...READ_ACCESS_TOKENS.map((token) => grantAccess(token, true)),
      ...ACCESS_TOKENS.map((token) => grantAccess(token, false)),
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

function grantAccess({ digest, name }: ConfiguredToken, isReadOnly: boolean): KnownToken {
  return {
    digest,
    grant: { isReadOnly, caller: { client: name }, client: digest.toString('base64url') },
  };
}

function warnOfShortTokens(tokens: readonly ConfiguredToken[]): void {
  const count = tokens.filter(({ length = Infinity }) => length < MIN_TOKEN_LENGTH).length;
  if (count === 0) return;
  new Logger('Auth').warn(
    `Configured tokens with fewer than ${MIN_TOKEN_LENGTH} characters, which may be guessed: ${count}. npm run new:token makes random ones`,
  );
}

/** Creates a token of 256 random bits. */
export function createToken(): string {
  return randomBytes(32).toString('base64url');
}
