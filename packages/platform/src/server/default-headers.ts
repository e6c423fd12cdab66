import type { Response } from 'express';

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

/**
 * Adds default headers, which the answer may override. They are added when the head is written.
 * `getHeader()` returns them, but `hasHeader()` does not know them.
 */
export function addDefaultHeaders(response: Response, ...namesAndValues: string[]): void {
  response.req.state.defaultHeaders.push(...namesAndValues);
}

/** @param headers names, each followed by its value */
export function findDefaultHeader(headers: readonly string[], name: string): string | undefined {
  const wanted = name.toLowerCase();
  const start = headers.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === wanted);
  return start === -1 ? undefined : headers[start + 1];
}
