import type { ServerResponse } from 'node:http';

export const REQUEST_ID = 'X-Request-Id';

/** Headers of every answer: caches must not store it, and browsers must not run it. */
export const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};
/** Each name is followed by its value. */
export const SECURITY_HEADER_LIST = Object.entries(SECURITY_HEADERS).flat();

export interface DefaultHeaders {
  /** Each name is followed by its value. */
  readonly defaultHeaders: string[];
}

/**
 * Adds default headers, which the answer may override. Like Node's own `Date`, they are added
 * when the head is written, so `getHeader()` does not return them.
 */
export function addDefaultHeaders(response: ServerResponse, ...namesAndValues: string[]): void {
  (response as ServerResponse & DefaultHeaders).defaultHeaders.push(...namesAndValues);
}
