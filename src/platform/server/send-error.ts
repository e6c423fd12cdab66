import { Logger } from '@nestjs/common';
import type { Response } from 'express';
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { countRequest } from '../observability/metrics.js';
import type { PinoLogger } from '../observability/pino-logger.js';
import { BodyChunks } from '../requests/body-chunks.js';
import { REQUEST_ID, SECURITY_HEADERS } from './default-headers.js';
import { breakOff } from './send-stream.js';

const logger = new Logger('Http');

export const JSON_TYPE = 'application/json; charset=utf-8';

/** How much of an unread body is read and discarded after an early answer, in bytes. */
const DISCARD_LIMIT = 8 * 1024 * 1024;
/** How long reading and discarding it may take, in milliseconds. */
const DISCARD_MS = 5_000;
/** How long refused input keeps a connection open for its client to read the answer, in milliseconds. */
const LINGER_MS = 2_000;

/** Answers with an error as JSON, also before the body of the request has arrived. */
export async function sendError(
  response: Response,
  { status, headers, body }: ApiError,
): Promise<void> {
  const { req } = response;
  // Node marks a request that arrived together with its headers as complete only after this turn.
  if (!req.complete) await nextTurn();
  if (response.headersSent) {
    breakOff(response);
    return;
  }
  const text = JSON.stringify(body);
  const sent = { 'Content-Type': JSON_TYPE, 'Content-Length': Buffer.byteLength(text) };
  try {
    // The path may have several representations, and this error takes the place of one of them.
    if (req.method === 'GET' || req.method === 'HEAD') response.vary('Accept');
    if (!req.complete) response.setHeader('Connection', 'close');
    response.writeHead(status, { ...headers, ...sent }).write(text);
    if (!req.complete) await discardBody(req);
    response.end();
  } catch (error) {
    // Only a bug can cause an answer that cannot be written.
    logger.error(error);
    breakOff(response);
  }
}

/**
 * Reads and discards the rest of a body, up to a limit, or until the client has left. A client that
 * is still sending would lose the answer if the connection closed at once (RFC 9112 section 9.6).
 */
async function discardBody(req: IncomingMessage): Promise<void> {
  let left = DISCARD_LIMIT;
  try {
    const end = performance.now() + DISCARD_MS;
    for await (const { length } of new BodyChunks(req, DISCARD_MS, end)) {
      left -= length;
      if (left < 0) return;
    }
  } catch {
    // The time is over, or the client has left.
  }
}

/** Converts an error of Node's parser. */
export function toApiError({ code }: NodeJS.ErrnoException): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError(ErrorCatalogue.HEADERS_TOO_LARGE);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError(ErrorCatalogue.BODY_TOO_LARGE, 'The chunk extensions are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ApiError(ErrorCatalogue.REQUEST_TIMEOUT);
    default:
      return new ApiError(ErrorCatalogue.MALFORMED_REQUEST);
  }
}

/**
 * Answers input that is not a request in the Error shape, where Node would answer without a body,
 * and closes the connection.
 */
export function refuseInput(
  socket: Socket,
  { status, headers, body }: ApiError,
  logger: PinoLogger,
): void {
  const requestId = randomUUID();
  const text = JSON.stringify(body);
  const fields = Object.entries({
    ...headers,
    ...SECURITY_HEADERS,
    [REQUEST_ID]: requestId,
    Date: new Date().toUTCString(),
    Connection: 'close',
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(text),
  });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
  // A client that is still sending would lose the answer if the connection closed at once.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
  logger.request('info', { requestId, status, error: body.error, msg: body.message });
  countRequest(undefined, undefined, status, 0);
}
