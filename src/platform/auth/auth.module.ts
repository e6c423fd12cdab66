import { Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { AccessTokens, createAccessTokens } from './access-tokens.js';
import { JwtTokens } from './jwt-tokens.js';
import { RateLimits } from '../limits/rate-limits.js';
import { Permissions } from './permissions.js';

@Module({
  providers: [
    { provide: AccessTokens, useFactory: createAccessTokens, inject: [Env] },
    { provide: JwtTokens, useFactory: createJwtTokens, inject: [Env] },
    RateLimits,
    Permissions,
  ],
  exports: [AccessTokens, JwtTokens, RateLimits, Permissions],
})
export class AuthModule {}

/** @returns null, which Nest can inject, when no identity provider is configured */
function createJwtTokens({ AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE }: Env): JwtTokens | null {
  if (AUTH_JWKS_URL === '') return null;
  return new JwtTokens({
    jwksUrl: new URL(AUTH_JWKS_URL),
    issuer: AUTH_ISSUER,
    audience: AUTH_AUDIENCE,
  });
}
