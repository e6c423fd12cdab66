import { Logger, StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { createServer } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { writeJson } from 'durable-store/json';
import { RequestLimits } from '../limits/request-limits.js';
import { endTurn } from '../limits/request-turns.js';
import { addDefaultHeaders } from './default-headers.js';
import { addPathPrefix, PREFIX_KEY } from './path-prefix.js';
import { createRequestClass } from './request-class.js';
import { createResponseClass } from './response-class.js';
import { JSON_TYPE } from './send-error.js';
import { answerUnmatched } from './unmatched-requests.js';
import { sendStream } from './send-stream.js';

// This file depends on internals of Node's HTTP server: `httpAllowHalfOpen`, which its documentation
// leaves out, and the members of a connection's parser. fast-express-adapter.spec.ts fails if a
// version of Node changes them.

/** How often Node checks the time limit for headers, in milliseconds. */
const TIME_CHECK_MS = 1_000;
/**
 * Texts of this length or longer are sent as bytes, so that texts which are not read are counted.
 */
const LONG_TEXT = 16 * 1024;

/**
 * Creates Express for an API: paths are exact, answers get no further headers, `json()` writes a
 * bigint as an exact integer, and a redirect to a path gets the path prefix. The router reads the
 * settings when the first route is added, so they must be set before Nest gets the instance.
 */
export function createExpress(): Express {
  const app = express()
    .enable('case sensitive routing')
    .enable('strict routing')
    .disable('x-powered-by')
    .disable('etag')
    .set(PREFIX_KEY, '');
  app.response.json = function json(this: Response, body: unknown): Response {
    if (!this.hasHeader('Content-Type')) this.type('json');
    return this.send(writeJson(body));
  };
  app.response.location = function setLocation(this: Response, url: string): Response {
    const isPath = url.startsWith('/') && !url.startsWith('//');
    return express.response.location.call(this, isPath ? addPathPrefix(this.app, url) : url);
  };
  return app;
}

/**
 * Nest's adapter for Express, but faster, and with a server that does not close idle connections by
 * itself.
 *
 * Express sets the prototype of every request and response, which costs two thirds of the
 * throughput, since V8 then leaves its fast path. This server creates both with that prototype
 * already, so that setting it has no effect.
 */
export class FastExpressAdapter extends ExpressAdapter {
  readonly limits = new RequestLimits();
  private readonly log = new Logger('Http');

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const ExpressRequest = createRequestClass(this.limits);
    const ExpressResponse = createResponseClass();
    app.request = inherit(ExpressRequest, app.request);
    app.response = inherit(ExpressResponse, app.response);
    const options = {
      IncomingMessage: ExpressRequest,
      ServerResponse: ExpressResponse,
      connectionsCheckingInterval: TIME_CHECK_MS,
      // The first middleware checks the Host header.
      requireHostHeader: false,
    };
    // Clients that end their side of the connection still get their answers.
    this.setHttpServer(Object.assign(createServer(options, app), { httpAllowHalfOpen: true }));
  }

  /**
   * Stops listening. The HTTP server's own `close()` would also close idle connections, which a stop
   * keeps for its grace time.
   */
  override async close(): Promise<void> {
    await new Promise((resolve) => NetServer.prototype.close.call(this.httpServer, resolve));
  }

  /** @throws TypeError */
  override useBodyParser(): never {
    return refuseBodyParser('app.useBodyParser()');
  }

  /** @throws TypeError when a middleware for all paths would read bodies */
  override use(...args: unknown[]): unknown {
    const [first] = args;
    if (typeof first === 'function' && BODY_PARSERS.has(first.name)) refuseBodyParser(first.name);
    return super.use(...(args as [])) as unknown;
  }

  /** Nest calls it once all routes are added. */
  override setNotFoundHandler(): this {
    answerUnmatched(this.getInstance<Express>());
    return this;
  }

  /** Answers with an object as Express's `json()` would, without reading its settings. */
  override reply(response: Response, result: unknown, statusCode?: number): unknown {
    endTurn(response);
    if (statusCode !== undefined) response.statusCode = statusCode;
    const { convertResult } = response.req.state;
    const body = convertResult === undefined ? result : convertResult(result, response);
    if (body instanceof StreamableFile) {
      return sendStream(response, body, (error) => this.log.error(error));
    }
    if (body instanceof Uint8Array) return response.send(body);
    if (typeof body !== 'object' || body === null || body instanceof Error) {
      return super.reply(response, body) as unknown;
    }
    // These have no body (RFC 9110 section 6.4.1), also if an interceptor made one.
    if (response.statusCode === 204 || response.statusCode === 304) return response.end();
    const text = writeJson(body);
    addDefaultHeaders(response, 'Content-Type', JSON_TYPE);
    // Node sets the length of other answers itself.
    if (response.req.method === 'HEAD' || response.req.httpVersion !== '1.1')
      response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text.length < LONG_TEXT ? text : Buffer.from(text));
  }
}

/** The names of the middleware of Express that reads bodies. */
const BODY_PARSERS = new Set(['jsonParser', 'rawParser', 'textParser', 'urlencodedParser']);

function refuseBodyParser(name: string): never {
  throw new TypeError(
    `${name}: bodies are read once the token was checked, so write @Body() body: AClass or @RawBody() in the handler, or use the middleware on a path of your own without them`,
  );
}

/** Makes a class inherit the members that Express adds, and returns the prototype for Express. */
function inherit<Members extends object>(base: { prototype: object }, members: Members): Members {
  return Object.setPrototypeOf(base.prototype, members) as Members;
}

/** The parser of a connection. */
interface Parser {
  onIncoming: () => number;
}

/** Skips everything that is read on a connection after the current request. */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as { parser?: Parser | null };
  // Node skips what follows an upgrade of the protocol, which this number means.
  if (parser) parser.onIncoming = () => 2;
}
