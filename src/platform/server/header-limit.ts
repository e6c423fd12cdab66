import type { IncomingMessage } from 'node:http';

/** How many headers a request may have, and how many trailers. */
export const MAX_HEADERS = 100;

export function hasTooManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  return areTooMany(rawHeaders);
}

export function hasTooManyTrailers({ rawTrailers }: IncomingMessage): boolean {
  return areTooMany(rawTrailers);
}

/** @param fields each name is followed by its value */
function areTooMany(fields: readonly string[]): boolean {
  return fields.length > 2 * MAX_HEADERS;
}
