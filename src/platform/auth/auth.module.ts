import { Inject, Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { splitList } from '../config/split-list.js';
import { AccessTokens } from './access-tokens.js';
import { readJwtRules } from './jwt-rules.js';
import { JwtTokens } from './jwt-tokens.js';
import { Limits } from './rate-limits.js';
import { Scopes } from './scopes.js';

@Module({
  providers: [
    { provide: AccessTokens, useFactory: readAccessTokens, inject: [Env] },
    {
      provide: JwtTokens,
      useFactory: (env: Env) => {
        const rules = readJwtRules(env);
        return rules === undefined ? null : new JwtTokens(rules);
      },
      inject: [Env],
    },
    Limits,
    Scopes,
  ],
  exports: [AccessTokens, JwtTokens, Limits, Scopes],
})
export class AuthModule {
  constructor(
    private readonly tokens: AccessTokens,
    @Inject(JwtTokens) private readonly jwts: JwtTokens | null,
  ) {}

  /** Which kinds of tokens are accepted, in words, without a value of any. */
  get kinds(): string {
    const { count, developmentToken } = this.tokens;
    const madeForThisRun = developmentToken === undefined ? '' : ', made for this run';
    const kinds = [
      ...(count > 0 ? [`static tokens (${count}${madeForThisRun})`] : []),
      ...(this.jwts === null ? [] : ['JWTs of the identity provider']),
    ];
    return kinds.join(' and ');
  }
}

/** Makes a token for development only where no other is configured. */
function readAccessTokens(env: Env): AccessTokens {
  const entries = splitList(env.ACCESS_TOKENS);
  const readEntries = splitList(env.READ_ACCESS_TOKENS);
  return entries.length + readEntries.length === 0 && env.AUTH_JWKS_URL === ''
    ? AccessTokens.forDevelopment()
    : new AccessTokens(entries, readEntries);
}
