import { randomUUID } from 'node:crypto';
import type { Express, Request, Response } from 'express';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Env } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { PinoLogger } from '../observability/pino-logger.js';
import { countRequest } from '../observability/metrics.js';
import { type Connections, MAX_HEADERS } from './connections.js';
import { SECURITY_HEADERS } from './default-headers.js';
import { REQUEST_ID } from './request.middleware.js';
import { JSON_TYPE } from './send-error.js';
import { breakOff } from './send-stream.js';

/** How long a refused connection stays open for its client to read the answer, in milliseconds. */
const LINGER_MS = 2_000;

/**
 * Passes requests to Express, one at a time for each connection. Answers in the Error shape where
 * Node would answer without a body or not at all.
 */
export function configureServer(
  server: Server,
  express: Express,
  connections: Connections,
  env: Env,
  logger: PinoLogger,
): void {
  server.headersTimeout = env.HEADERS_TIMEOUT_MS;
  // Each reader of a body limits its time, since an import may last for hours.
  server.requestTimeout = 0;
  server.keepAliveTimeout = env.KEEP_ALIVE_TIMEOUT_MS;
  // Node drops further headers silently, so one more shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;

  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    if (!connections.begin(req, res)) return;
    const pass = (): void => {
      express(req as Request, res as Response, () => {
        const message = 'The path cannot be parsed';
        refuse(req.socket, new ApiError(ErrorCatalogue.MALFORMED_REQUEST, message), logger);
      });
    };
    if (connections.acceptingEnded === undefined) pass();
    else void connections.acceptingEnded.then(pass);
  };
  server.removeAllListeners('request').on('request', handle);
  // The body reader sends 100 (Continue) once the token is accepted, and the first middleware
  // refuses other expectations.
  server.on('checkContinue', handle).on('checkExpectation', handle);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // Each further piece of malformed input is reported again.
    if (!socket.writable) return;
    const current = connections.getCurrent(socket);
    if (current?.req.complete === true) connections.endAfterCurrent(socket);
    else if (current?.headersSent === true) breakOff(current);
    else refuse(socket, parserErrorToApiError(error), logger);
  });
}

function parserErrorToApiError({ code }: NodeJS.ErrnoException): ApiError {
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

/** Answers input that is not a request, and closes the connection. */
function refuse(socket: Socket, { status, headers, body }: ApiError, logger: PinoLogger): void {
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
