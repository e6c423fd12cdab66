import { Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { AccessTokens } from './access-tokens.js';
import { createJwtTokens, JwtTokens } from './jwt-tokens.js';
import { RateLimits } from '../limits/rate-limits.js';
import { Permissions } from './permissions.js';

@Module({
  providers: [
    AccessTokens,
    { provide: JwtTokens, useFactory: createJwtTokens, inject: [Env] },
    RateLimits,
    Permissions,
  ],
  exports: [AccessTokens, JwtTokens, RateLimits, Permissions],
})
export class AuthModule {}
