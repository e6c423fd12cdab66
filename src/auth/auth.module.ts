import { Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { AccessTokens, splitTokens } from './access-tokens.js';

@Module({
  providers: [
    {
      provide: AccessTokens,
      useFactory: (env: Env) => new AccessTokens(splitTokens(env.ACCESS_TOKENS)),
      inject: [Env],
    },
  ],
  exports: [AccessTokens],
})
export class AuthModule {}
