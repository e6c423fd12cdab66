import { Logger } from '@nestjs/common';
import type { Response } from 'express';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { breakOff } from './send-stream.js';

const logger = new Logger('Http');

export const JSON_TYPE = 'application/json; charset=utf-8';

/** How much of an unread body is read and discarded after an early answer, in bytes. */
export const DISCARD_LIMIT = 8 * 1024 * 1024;
/** How long reading and discarding it may take, in milliseconds. */
export const DISCARD_MS = 5_000;

/** The methods whose answers depend on `Accept`. */
const READING = new Set<string | undefined>(['GET', 'HEAD']);

/** Answers with an error as JSON, also before the body of the request has arrived. */
export function sendError(
  req: IncomingMessage,
  res: Response,
  status: number,
  headers: OutgoingHttpHeaders,
  body: object,
): void {
  const text = JSON.stringify(body);
  const allHeaders = {
    ...headers,
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(text),
  };
  const send = (): void => {
    try {
      // The path may have several representations, and this error takes the place of one of them.
      if (!res.headersSent && READING.has(req.method)) res.vary('Accept');
      if (res.headersSent) {
        breakOff(res);
      } else if (req.complete) {
        res.writeHead(status, allHeaders).end(text);
      } else {
        res.writeHead(status, { ...allHeaders, Connection: 'close' }).write(text);
        discardBody(req, () => res.end());
      }
    } catch (error) {
      // Only a bug can cause an answer that cannot be written.
      logger.error(error);
      breakOff(res);
    }
  };
  // Node marks a request that arrived together with its headers as complete only after this turn.
  if (req.complete) send();
  else setImmediate(send);
}

/**
 * Reads and discards the rest of a body, up to a limit. A client that is still sending would lose
 * the answer if the connection closed at once (RFC 9112 section 9.6).
 *
 * @param done is called at the end of the body, at the limit or when the client has left
 */
function discardBody(req: IncomingMessage, done: () => void): void {
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
