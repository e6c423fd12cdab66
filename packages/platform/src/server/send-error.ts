import { Logger } from '@nestjs/common';
import type { Response } from 'express';
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { PinoLogger } from '../observability/pino-logger.js';
import { REQUEST_ID, SECURITY_HEADERS } from './default-headers.js';
import { isBodyIncomplete } from './early-answer.js';
import { resetConnection } from './send-stream.js';

const logger = new Logger('Http');

export const JSON_TYPE = 'application/json; charset=utf-8';

/** How long refused input keeps a connection open for its client to read the answer, in milliseconds. */
const LINGER_MS = 2_000;

/** Answers with an error as JSON, also before the body of the request has arrived. */
export async function sendError(response: Response, error: ApiError): Promise<void> {
  const { req } = response;
  const { headers, body } = error;
  // A body that arrived together with the headers is complete only after this turn.
  if (isBodyIncomplete(req)) await nextTurn();
  if (response.headersSent) {
    resetConnection(response);
    return;
  }
  const text = JSON.stringify(body);
  const sent = { 'Content-Type': JSON_TYPE, 'Content-Length': Buffer.byteLength(text) };
  try {
    // The path may have several representations, and this error is sent instead of one of them.
    if (req.method === 'GET' || req.method === 'HEAD') response.vary('Accept');
    response.writeHead(error.getStatus(), { ...headers, ...sent }).end(text);
  } catch (failure) {
    // Only a bug can cause an answer that cannot be written.
    logger.error(failure);
    resetConnection(response);
  }
}

/** Converts an error of Node's parser. */
export function explainParserError({ code }: NodeJS.ErrnoException): ApiError {
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
export function refuseInput(socket: Socket, error: ApiError, logger: PinoLogger): void {
  const { headers, body } = error;
  const status = error.getStatus();
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
}
