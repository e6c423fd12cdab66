import { isIPv4 } from 'node:net';
import type { Env } from '../config/env.js';

/** RFC 6749 section 3.3. */
const SCOPE = /^[!#-[\]-~]+$/;

/** Which access tokens are meant for this service. */
export interface JwtRules {
  readonly jwksUrl: URL;
  readonly issuer: string;
  readonly audience: string;
  /** All of them must be granted. */
  readonly scopes: readonly string[];
}

/** Undefined when no identity provider is configured. */
export function readJwtRules(env: Env): JwtRules | undefined {
  const { AUTH_JWKS_URL, AUTH_ISSUER, AUTH_AUDIENCE, AUTH_SCOPE } = env;
  if (AUTH_JWKS_URL === '') return undefined;
  return {
    jwksUrl: new URL(AUTH_JWKS_URL),
    issuer: AUTH_ISSUER,
    audience: AUTH_AUDIENCE,
    scopes: splitScopes(AUTH_SCOPE),
  };
}

export const JWKS_URL_RULE =
  'must be an https URL without a user name, or an http one of a loopback address';

export function isJwksUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  return isSafe && username === '' && password === '';
}

function splitScopes(value: string): string[] {
  return value.split(' ').filter((scope) => scope !== '');
}

export function isScopeList(value: string): boolean {
  return splitScopes(value).every((scope) => SCOPE.test(scope));
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' ||
    hostname === '[::1]' ||
    (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}
