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

/** Finds violations of HTTP/1.1 that Node accepts (RFC 9112 sections 2.3 and 3.2). */
export function findViolation({ httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The HTTP version is not 1.0 or 1.1';
  let hosts = 0;
  // Node drops repeated Host headers, but keeps them among the raw headers.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  const isMissing = hosts === 0 && httpVersion === '1.1';
  return isMissing || hosts > 1 ? 'The request needs exactly one Host header' : undefined;
}

/** Whether the target of a request is a path, an asterisk or a whole URL (RFC 9112 section 3.2). */
export function isRequestTarget(url: string): boolean {
  return url.startsWith('/') || url === '*' || URL.canParse(url);
}

/** Whether it is uncertain where a request ends, so that what follows must not be handled. */
export function isEndUncertain(req: IncomingMessage): boolean {
  // Node drops the rest of the chunk after such a request. If that was the head of another
  // request, the body of that one would be parsed as a request.
  if (req.headers.upgrade !== undefined || req.method === 'CONNECT') return true;
  // A sender of HTTP/1.0 may not know chunks, and so may delimit requests differently than the
  // parser (RFC 9112 section 6.1).
  if (req.httpVersion === '1.0' && 'transfer-encoding' in req.headers) return true;
  // Node has dropped some of the headers, and those above may be among them.
  return hasTooManyHeaders(req);
}
