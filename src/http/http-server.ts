import { randomUUID } from 'node:crypto';
import type { Express, Request, Response } from 'express';
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { PinoLogger } from '../logging/pino-logger.js';
import { countRequest } from '../metrics/metrics.js';
import { REQUEST_ID, requestIdOf, SECURITY_HEADERS } from './request.middleware.js';
import { JSON_TYPE, sendJson } from './send-json.js';

/** How long a client may take for each, in milliseconds. */
export interface TimeLimits {
  readonly headers: number;
  readonly request: number;
  readonly keepAlive: number;
}

/** How often the time limits are looked at, in milliseconds. */
const TIME_CHECK = 1_000;
/** How long a connection stays open for its client to read why it is closed, in milliseconds. */
const LINGER_TIME = 2_000;

/** Answers in the Error shape to what never becomes a request, where Node says nothing or little. */
export function configureServer(
  server: Server,
  express: Express,
  limits: TimeLimits,
  logger: PinoLogger,
): void {
  server.headersTimeout = limits.headers;
  server.requestTimeout = limits.request;
  server.keepAliveTimeout = limits.keepAlive;
  Object.assign(server, {
    connectionsCheckingInterval: TIME_CHECK,
    // The middleware answers to a missing Host header.
    requireHostHeader: false,
  });
  server.removeAllListeners('request').on('request', (req: Request, res: Response) => {
    const refusePath = (): void => {
      const reason = 'The path cannot be parsed';
      answer(req, res, new ApiError(ErrorCatalogue.MALFORMED_REQUEST, reason), logger);
    };
    // Express answers in HTML to a path it cannot parse, unless it is told what to do instead.
    if (isParsable(req.url)) express(req, res, refusePath);
    else refusePath();
  });
  // Whether to continue is decided once the token has been looked at: the body reader tells.
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    server.emit('request', req, res);
  });
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) => {
    answer(req, res, new ApiError(ErrorCatalogue.EXPECTATION_FAILED), logger);
  });
  server.on('connect', (_: IncomingMessage, socket: Socket) => {
    refuse(socket, new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'This is not a proxy'), logger);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    refuse(socket, toApiError(error), logger);
  });
}

/** RFC 9112 section 3.2: the target of a request is a path, an asterisk or a whole URL. */
function isParsable(url: string): boolean {
  return url.startsWith('/') || url === '*' || URL.canParse(url);
}

/** Answers to a request that Express does not get to see, or cannot make sense of. */
function answer(
  req: IncomingMessage,
  res: ServerResponse,
  { status, headers, body }: ApiError,
  logger: PinoLogger,
): void {
  const requestId = requestIdOf(req);
  logger.request('info', { requestId, method: req.method, status });
  countRequest(req.method, undefined, status, 0);
  const fields = { ...headers, ...SECURITY_HEADERS, [REQUEST_ID]: requestId, Connection: 'close' };
  sendJson(req, res, status, fields, body);
}

function toApiError({ code }: NodeJS.ErrnoException): ApiError {
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

type RefusedSocket = Socket & {
  /** Node's own note of the response that is under way on the connection. */
  _httpMessage?: (ServerResponse & { req: IncomingMessage }) | null;
};

const refused = new WeakSet<Socket>();

/** Answers on a connection that is not usable any more, after the answers that are still due on it. */
function refuse(socket: RefusedSocket, error: ApiError, logger: PinoLogger): void {
  // The parser fails again at every further piece of what it does not understand.
  if (refused.has(socket)) return;
  refused.add(socket);
  socket.on('error', () => undefined);
  const answerInTurn = (): void => {
    const response = socket._httpMessage;
    if (!socket.writable || (response?.headersSent && !response.req.complete)) {
      socket.destroy();
    } else if (response?.req.complete) {
      response.once('close', () => setImmediate(answerInTurn));
    } else {
      close(socket, error, logger);
    }
  };
  answerInTurn();
}

function close(socket: Socket, { status, headers, body }: ApiError, logger: PinoLogger): void {
  const requestId = randomUUID();
  const text = JSON.stringify(body);
  const fields = {
    ...headers,
    ...SECURITY_HEADERS,
    [REQUEST_ID]: requestId,
    Date: new Date().toUTCString(),
    Connection: 'close',
    'Content-Type': JSON_TYPE,
    'Content-Length': Buffer.byteLength(text),
  };
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  socket.end(
    `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}\r\n${head.join('')}\r\n${text}`,
  );
  // A client that is busy sending would lose the answer if the connection closed under it.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_TIME).unref();
  logger.request('info', { requestId, status });
  countRequest(undefined, undefined, status, 0);
}
