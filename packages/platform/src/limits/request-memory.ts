import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { type ClientRequest, getClient } from './client.js';

/** About how much memory the name or the value of a header takes besides its characters, in bytes. */
const HEADER_OVERHEAD = 64;
/** How many bytes of a body Node reads ahead until the program reads them. */
export const READ_AHEAD = 128 * 1024;

/** Estimates the memory of the URL and the headers of a request, which is held while it waits. */
export function countHead({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length + HEADER_OVERHEAD, url.length);
}

/** How much of the body may be in memory before it is read, in bytes. */
function countReadAhead({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return READ_AHEAD;
  return Math.min(Number(headers['content-length'] ?? 0), READ_AHEAD);
}

/**
 * Counts a request whose body is not read yet as memory of its client while something else is
 * awaited.
 *
 * @throws ApiError 50300 when the requests of all clients are too much to hold
 */
export async function holdRequest<Result>(
  request: IncomingMessage & ClientRequest,
  awaited: Promise<Result>,
): Promise<Result> {
  let drop = (): void => undefined;
  const dropped = new Promise<never>((_, reject) => {
    drop = () => reject(new ApiError(ErrorCatalogue.UNAVAILABLE));
  });
  const holding = request.state.limits.memory.hold(getClient(request), drop);
  holding.update(countHead(request) + countReadAhead(request));
  try {
    return await Promise.race([awaited, dropped]);
  } finally {
    holding.end();
  }
}
