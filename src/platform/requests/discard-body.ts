import type { Request, Response } from 'express';
import type { IncomingMessage } from 'node:http';

/** How much of an unread body is read and discarded after an early answer, in bytes. */
export const DISCARD_LIMIT = 8 * 1024 * 1024;
/** How long reading and discarding it may take, in milliseconds. */
export const DISCARD_MS = 5_000;

/**
 * Reads and discards the rest of a body, up to a limit. A client that is still sending would lose
 * the answer if the connection closed at once (RFC 9112 section 9.6).
 *
 * @param done is called at the end of the body, at the limit or when the client has left
 */
export function discardBody(req: IncomingMessage, done: () => void): void {
  const finish = (): void => {
    clearTimeout(timer);
    done();
  };
  const timer = setTimeout(finish, DISCARD_MS);
  let left = DISCARD_LIMIT;
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) finish();
  });
  req.on('end', finish).on('close', finish).resume();
}

/**
 * Reads and discards the body of a read or a removal. An unread body stays in memory until the
 * answer, and hides the end of the connection.
 */
export function discardUnusedBody(request: Request, response: Response): void {
  const { method, headers, socket } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'DELETE') return;
  discardBody(request, () => {
    if (request.complete) return;
    if (response.headersSent) socket.destroySoon();
    else response.setHeader('Connection', 'close');
  });
}
