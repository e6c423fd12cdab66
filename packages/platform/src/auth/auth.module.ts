import { Module } from '@nestjs/common';
import { AccessTokens } from './access-tokens.js';
import { JwtTokens } from './jwt-tokens.js';
import { RateLimits } from '../limits/rate-limits.js';
import { Permissions } from './permissions.js';

@Module({
  providers: [AccessTokens, JwtTokens, RateLimits, Permissions],
  exports: [AccessTokens, JwtTokens, RateLimits, Permissions],
})
export class AuthModule {}
