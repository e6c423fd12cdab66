import type { Env } from '../config/env.js';

/** Which access tokens are meant for this service. */
export interface JwtRules {
  readonly jwksUrl: URL;
  readonly issuer: string;
  readonly audience: string;
}

/** Undefined when no identity provider is configured. */
export function readJwtRules(env: Env): JwtRules | undefined {
  const { AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE } = env;
  if (AUTH_JWKS_URL === '') return undefined;
  return {
    jwksUrl: new URL(AUTH_JWKS_URL),
    issuer: AUTH_ISSUER,
    audience: AUTH_AUDIENCE,
  };
}
