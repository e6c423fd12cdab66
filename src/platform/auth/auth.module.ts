import { Logger, Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { parseTokenDigest, splitList } from '../config/setting-formats.js';
import { AccessTokens } from './access-tokens.js';
import { JwtTokens } from './jwt-tokens.js';
import { RateLimits } from '../limits/rate-limits.js';
import { Scopes } from './scopes.js';

/** Tokens with fewer characters may be guessed. */
const MIN_TOKEN_LENGTH = 16;

@Module({
  providers: [
    { provide: AccessTokens, useFactory: createAccessTokens, inject: [Env] },
    { provide: JwtTokens, useFactory: createJwtTokens, inject: [Env] },
    RateLimits,
    Scopes,
  ],
  exports: [AccessTokens, JwtTokens, RateLimits, Scopes],
})
export class AuthModule {}

/** Creates a development token only if no token is configured. */
function createAccessTokens(env: Env): AccessTokens {
  const entries = splitList(env.ACCESS_TOKENS);
  const readEntries = splitList(env.READ_ACCESS_TOKENS);
  if (entries.length + readEntries.length === 0 && env.AUTH_JWKS_URL === '') {
    return AccessTokens.forDevelopment(env.DEVELOPMENT_TOKEN);
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

/** @returns null, which Nest can inject, when no identity provider is configured */
function createJwtTokens({ AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE }: Env): JwtTokens | null {
  if (AUTH_JWKS_URL === '') return null;
  return new JwtTokens({
    jwksUrl: new URL(AUTH_JWKS_URL),
    issuer: AUTH_ISSUER,
    audience: AUTH_AUDIENCE,
  });
}
