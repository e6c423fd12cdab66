import { Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { splitList } from '../config/setting-formats.js';
import { AccessTokens } from './access-tokens.js';
import { JwtTokens } from './jwt-tokens.js';
import { RateLimits } from './rate-limits.js';
import { Scopes } from './scopes.js';

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

/** Makes a token for development only where no other is configured. */
function createAccessTokens(env: Env): AccessTokens {
  const entries = splitList(env.ACCESS_TOKENS);
  const readEntries = splitList(env.READ_ACCESS_TOKENS);
  return entries.length + readEntries.length === 0 && env.AUTH_JWKS_URL === ''
    ? AccessTokens.forDevelopment()
    : new AccessTokens(entries, readEntries);
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
