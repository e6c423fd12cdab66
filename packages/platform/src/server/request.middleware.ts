import { type Span, trace } from '@opentelemetry/api';
import { randomUUID } from 'node:crypto';
import type { Request, RequestHandler, Response } from 'express';
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';
import type { PinoLogger } from '../observability/pino-logger.js';
import type { RequestMetrics } from '../observability/metrics.js';
import { toLoggedAddress } from '../limits/client.js';
import { endTurnOfClosed } from '../limits/request-turns.js';
import { hasTooManyHeaders } from './connection.js';
import type { Connections } from './connections.js';
import { addDefaultHeaders, REQUEST_ID, SECURITY_HEADER_LIST } from './default-headers.js';
import { readTrace } from '../observability/trace-context.js';

export const MAX_REQUEST_ID_LENGTH = 128;
/** The ids that a client may choose: they are logged, and returned to the client. */
const REQUEST_ID_PATTERN = new RegExp(`^[\\w.:/+=@-]{1,${MAX_REQUEST_ID_LENGTH}}$`);

/** Probes and scrapes arrive every few seconds, and are logged at info only when they fail. */
const PROBE = /^\/(?:health\/|metrics$)/;

/** How much of a client's or user's name is logged, in characters. */
const MAX_LOGGED_NAME = 64;
/** The path of the probe that is answered beyond the limit of connections. */
const LIVE = '/health/live';

/** The longest path that is logged in full, in characters. */
const MAX_LOGGED_PATH = 256;

/** A host, perhaps with a port (RFC 3986 section 3.2.2). It is empty if the target has none. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~%!$&'()*+,;=-]*)(?::\d*)?$/i;
/** Matches the only expectation that HTTP defines, as Node does. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

/**
 * The first middleware: gives a request its id, sets the headers of every answer, counts and logs
 * the request at its end, and refuses a request that Node accepts but should not. Requests whose
 * clients disconnect before the answer are logged at debug.
 */
export function requestMiddleware(
  logger: PinoLogger,
  connections: Connections,
  metrics: RequestMetrics,
): RequestHandler {
  return (req, res, next) => {
    const began = performance.now();
    const sentId = req.headers['x-request-id'];
    const isAccepted = typeof sentId === 'string' && REQUEST_ID_PATTERN.test(sentId);
    const requestId = isAccepted ? sentId : randomUUID();
    const span = trace.getActiveSpan();
    const traced = readTrace(req.headers, span);
    // Logged only if TRUST_PROXY is set, also to 0.
    const isLogged = req.app.get('trust proxy') !== false;
    const clientAddress = isLogged ? toLoggedAddress(req.ip) : undefined;
    const { state } = req;
    state.id = requestId;
    addDefaultHeaders(res, REQUEST_ID, requestId, ...SECURITY_HEADER_LIST);
    if (span !== undefined) res.on('finish', () => nameSpan(span, req.method, getRoute(req)));
    // A single listener, since each takes time.
    res.on('close', () => {
      connections.endRequest(req.socket);
      endTurnOfClosed(res);
      const ms = performance.now() - began;
      const path = toLoggedPath(req.originalUrl);
      const status = res.headersSent ? res.statusCode : undefined;
      const logAtInfo = status !== undefined && !(status === 200 && PROBE.test(path));
      const isIncomplete = status !== undefined && !res.writableFinished;
      const { error, caller } = state;
      const fields = {
        requestId,
        method: req.method,
        path,
        status,
        error,
        client: toLoggedName(caller?.client),
        sub: toLoggedName(caller?.user),
        clientAddress,
        // V8 caches the text of every number until its next full collection, so rounding saves
        // memory.
        ms: Math.round(ms * 10) / 10,
        incomplete: isIncomplete || undefined,
        msg: `${req.method} ${path} ${status ?? 'aborted'}`,
      };
      const line = traced === undefined ? fields : { ...fields, ...traced };
      logger.request(logAtInfo ? 'info' : 'debug', line);
      metrics.countRequest(req.method, getRoute(req), status, ms / 1_000);
    });
    if (state.isOverLimit) limitConnection(req, res);
    checkRequest(req);
    next();
  };
}

/**
 * Refuses the request of a connection beyond `MAX_CONNECTIONS`, except for the probe that asks
 * whether the event loop runs: a failure would restart the program, and drop all its clients.
 *
 * @throws ApiError 50300
 */
function limitConnection({ path }: Request, response: Response): void {
  if (path !== LIVE) refuse(ErrorCatalogue.UNAVAILABLE, 'Too many connections are open');
  response.setHeader('Connection', 'close');
}

/**
 * Refuses violations of HTTP/1.1 that Node accepts (RFC 9112 sections 2.3 and 3.2), transfer
 * codings that the program does not decode (section 6.1), too many headers, and unknown
 * expectations.
 *
 * @throws ApiError 40000, 41700, 43100
 */
function checkRequest(req: IncomingMessage): void {
  const { httpVersion, rawHeaders, headers } = req;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    refuse(ErrorCatalogue.MALFORMED_REQUEST, 'The HTTP version is not 1.0 or 1.1');
  }
  if (hasTooManyHeaders(req)) refuse(ErrorCatalogue.HEADERS_TOO_LARGE);
  let hosts = 0;
  // Node drops repeated Host headers, but keeps them among the raw headers.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  const isMissing = hosts === 0 && httpVersion === '1.1';
  if (hosts > 1 || isMissing || !HOST.test(headers.host ?? '')) {
    refuse(ErrorCatalogue.MALFORMED_REQUEST, 'The request needs exactly one valid Host header');
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    refuse(ErrorCatalogue.MALFORMED_REQUEST, 'The only accepted Transfer-Encoding is chunked');
  }
  // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
  if (headers.expect !== undefined && httpVersion === '1.1' && !CONTINUE.test(headers.expect)) {
    refuse(ErrorCatalogue.EXPECTATION_FAILED);
  }
}

/** Refuses a request, and ends its connection. */
function refuse(entry: ErrorEntry, message?: string): never {
  throw new ApiError(entry, message, { Connection: 'close' });
}

/** Half of a surrogate pair, which is not valid in JSON, becomes another character. */
function toLoggedName(name: string | undefined): string | undefined {
  return name?.slice(0, MAX_LOGGED_NAME).toWellFormed();
}

/** The path of the route that matched a request, as Express records it. */
function getRoute({ route }: Request): string | undefined {
  return (route as { path: string } | undefined)?.path;
}

/** Names a span by its route, which OpenTelemetry's instrumentation of HTTP does not know. */
function nameSpan(span: Span, method: string, route: string | undefined): void {
  if (route === undefined) return;
  span.setAttribute('http.route', route);
  span.updateName(`${method} ${route}`);
}

/**
 * Cuts off the query, and the authority of an absolute URL (RFC 9112 section 3.2.2): both may
 * contain secrets.
 */
function toLoggedPath(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^[^/?]*:\/\/[^/?]*/, '');
  const query = path.indexOf('?');
  return path.slice(0, Math.min(query === -1 ? path.length : query, MAX_LOGGED_PATH));
}
