import { trace } from '@opentelemetry/api';
import { randomUUID } from 'node:crypto';
import type { Express, Request, Response } from 'express';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Env } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';
import type { PinoLogger, RequestLocals } from '../observability/pino-logger.js';
import { countRequest } from '../observability/metrics.js';
import { hasOwnTimeLimits } from '../requests/body-lines.js';
import type { Connections } from './connections.js';
import { SECURITY_HEADERS } from './default-headers.js';
import { configureNode } from './node-internals.js';
import type { Handler } from './pipelined-requests.js';
import { describeOrigin, REQUEST_ID, getRequestId } from './request.middleware.js';
import { hasTooManyHeaders, isRequestTarget, MAX_HEADERS } from './http-rules.js';
import { JSON_TYPE, sendError } from './send-error.js';

/** The code of Node's error for a late request. */
const REQUEST_TIMEOUT = 'ERR_HTTP_REQUEST_TIMEOUT';
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
  configureNode(server);
  server.headersTimeout = env.HEADERS_TIMEOUT_MS;
  server.requestTimeout = env.REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = env.KEEP_ALIVE_TIMEOUT_MS;
  // Node drops further headers silently, so one more shows that there are too many.
  server.maxHeadersCount = MAX_HEADERS + 1;

  const answerWith =
    (entry: ErrorEntry, message?: string): Handler =>
    (req, res) =>
      answer(req, res, new ApiError(entry, message), logger);
  const refuseConnection = answerWith(ErrorCatalogue.UNAVAILABLE);
  connections.refuse = refuseConnection;
  const refuseHeaders = answerWith(ErrorCatalogue.HEADERS_TOO_LARGE);
  const refuseExpectation = answerWith(ErrorCatalogue.EXPECTATION_FAILED);
  const refusePath = answerWith(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be parsed');
  const refuseConnect = answerWith(ErrorCatalogue.MALFORMED_REQUEST, 'This is not a proxy');
  const route: Handler = (req, res) => {
    if (req.method === 'CONNECT') {
      refuseConnect(req, res);
    } else if (isRequestTarget(req.url ?? '')) {
      express(req as Request, res as Response, () => refusePath(req, res));
    } else {
      // Express would answer HTML for a path that it cannot parse.
      refusePath(req, res);
    }
  };

  const onRequest: Handler = (req, res) => {
    const { requests, isOverLimit } = connections.get(req.socket);
    const handler = isOverLimit ? refuseConnection : route;
    requests.handle(req, res, hasTooManyHeaders(req) ? refuseHeaders : handler);
  };
  server.removeAllListeners('request').on('request', onRequest);
  // The body reader sends 100 (Continue) once the token is accepted.
  server.on('checkContinue', onRequest);
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) => {
    const handler = hasTooManyHeaders(req) ? refuseHeaders : refuseExpectation;
    connections.get(req.socket).requests.handle(req, res, handler);
  });
  // Node removes its own listener, and an error without a listener would end the process.
  const ignore = (): void => undefined;
  const refuse = (socket: Socket, error: ApiError): void => {
    // Each further chunk of malformed input is reported again.
    socket.off('error', ignore).on('error', ignore);
    connections.get(socket).requests.refuse(() => close(socket, error, logger));
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const refuseInput = (): void => refuse(socket, parserErrorToApiError(error));
    if (error.code === REQUEST_TIMEOUT) {
      if (hasOwnTimeLimits(socket)) return;
      const { requests } = connections.get(socket);
      const refuseLate = (): void => {
        if (!hasOwnTimeLimits(socket)) refuseInput();
      };
      if (requests.postponeTimeout(env.REQUEST_TIMEOUT_MS, refuseLate)) return;
    }
    refuseInput();
  });
}

/**
 * Answers a request that has not reached Express, that Express cannot parse, or for which a stop
 * leaves no time.
 */
function answer(
  req: IncomingMessage,
  res: ServerResponse,
  { status, headers, body }: ApiError,
  logger: PinoLogger,
): void {
  const locals = (res as Partial<Response>).locals as RequestLocals | undefined;
  const requestId = locals?.requestId ?? getRequestId(req);
  if (locals?.requestId === undefined) {
    logger.request('info', {
      requestId,
      method: req.method,
      status,
      error: body.error,
      ...describeOrigin(req as Request, trace.getActiveSpan()),
      msg: body.message,
    });
    countRequest(req.method, undefined, status, 0);
  } else {
    // The first middleware logs and counts the request at its end.
    locals.error = body.error;
  }
  const fields = { ...headers, ...SECURITY_HEADERS, [REQUEST_ID]: requestId, Connection: 'close' };
  sendError(req, res as Response, status, fields, body);
}

function parserErrorToApiError({ code }: NodeJS.ErrnoException): ApiError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ApiError(ErrorCatalogue.HEADERS_TOO_LARGE);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ApiError(ErrorCatalogue.BODY_TOO_LARGE, 'The chunk extensions are too large');
    case REQUEST_TIMEOUT:
      return new ApiError(ErrorCatalogue.REQUEST_TIMEOUT);
    default:
      return new ApiError(ErrorCatalogue.MALFORMED_REQUEST);
  }
}

/** Answers input that is not a request, and closes the connection. */
function close(socket: Socket, { status, headers, body }: ApiError, logger: PinoLogger): void {
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
