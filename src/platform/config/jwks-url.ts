import { isIPv4 } from 'node:net';

export const JWKS_URL_RULE =
  'must be an https URL without a user name, or an http one of a loopback address';

/** RFC 6749 section 3.3. */
const SCOPE = /^[!#-[\]-~]+$/;

export function isJwksUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  return isSafe && username === '' && password === '';
}

export function splitScopes(value: string): string[] {
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
