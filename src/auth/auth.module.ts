import { Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { splitList } from '../config/split-list.js';
import { AccessTokens } from './access-tokens.js';

@Module({
  providers: [
    {
      provide: AccessTokens,
      useFactory: (env: Env) => new AccessTokens(splitList(env.ACCESS_TOKENS)),
      inject: [Env],
    },
  ],
  exports: [AccessTokens],
})
export class AuthModule {}
