import { Logger, StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { writeJson } from 'durable-store/json';
import { getClient } from '../limits/client.js';
import { RequestLimits } from '../limits/request-limits.js';
import { RequestState } from '../limits/request-state.js';
import { endTurn } from '../limits/request-turns.js';
import { GrowingBuffer } from '../requests/body-chunks.js';
import { addDefaultHeaders, findDefaultHeader } from './default-headers.js';
import { discardRest, isBodyIncomplete, writeLast } from './early-answer.js';
import { addPathPrefix, PREFIX_KEY } from './path-prefix.js';
import { JSON_TYPE } from './send-error.js';
import { SlowBodies } from './slow-bodies.js';
import { answerUnmatched } from './unmatched-requests.js';
import { countUnsent, sendStream } from './send-stream.js';

// This file depends on internals of Node's HTTP server: `httpAllowHalfOpen`, which its documentation
// leaves out, and the members of a connection's parser. fast-express-adapter.spec.ts fails if a
// version of Node changes them.

/** How often Node checks the time limit for headers, in milliseconds. */
const TIME_CHECK_MS = 1_000;
/** A chunk below this length, in bytes, takes about as long to parse as one of this length. */
const SMALL_CHUNK = 256;
/** How many small chunks of a body are read without a turn. */
const FREE_SMALL_CHUNKS = 64;
/** Texts of this length or longer are sent as bytes, so that those which are not read are counted. */
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
  /** What was said by {@link warnUnread}. */
  private readonly warned = new Set<string>();

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    const { limits } = this;
    const slowBodies = new SlowBodies(limits.slowWork);
    const warnUnread = this.warnUnread.bind(this);
    class ExpressRequest extends IncomingMessage {
      readonly state = new RequestState(limits);
      /** Undefined until the body is read. */
      private readBody: unknown;
      /** Express computes it. */
      declare readonly ip: string | undefined;
      private smallChunks = 0;
      /** The small chunks of one read of the connection; undefined if there are none. */
      private gathered: GrowingBuffer | undefined;
      private needsTurn = false;
      private waitsForTurn = false;

      get body(): unknown {
        if (this.readBody === undefined) warnUnread(this);
        return this.readBody;
      }

      set body(value: unknown) {
        this.readBody = value;
      }

      /**
       * Whether its body came in many small chunks. The answer then ends the connection: the first read
       * of a body waits for nobody, while a new connection costs its client some time.
       */
      get hasSmallChunks(): boolean {
        return this.smallChunks > FREE_SMALL_CHUNKS;
      }

      /** Returns false when Node shall not read on, until it calls {@link _read}. */
      override push(chunk: Buffer | null): boolean {
        const isSmall = chunk !== null && chunk.length < SMALL_CHUNK;
        if (isSmall) this.smallChunks++;
        if (!isSmall || !this.hasSmallChunks) {
          this.pushGathered();
          return super.push(chunk) && !this.needsTurn;
        }
        // Passing on each of them takes several times as long as parsing it.
        if (this.gathered === undefined) setImmediate(() => this.pushGathered());
        this.gathered ??= new GrowingBuffer(Infinity);
        this.gathered.add(chunk);
        return false;
      }

      private pushGathered(): void {
        if (this.gathered === undefined) return;
        this.needsTurn = true;
        const { bytes } = this.gathered;
        this.gathered = undefined;
        super.push(bytes);
      }

      override _read(): void {
        if (this.waitsForTurn) return;
        if (!this.needsTurn) {
          this.readOn();
          return;
        }
        this.waitsForTurn = true;
        slowBodies.readInTurn(getClient(this), this);
      }

      readOn(): void {
        this.waitsForTurn = false;
        this.needsTurn = false;
        super._read(0);
      }
    }
    class ExpressResponse extends ServerResponse<ExpressRequest> {
      private isEnding = false;

      override writeHead(status: number, ...rest: unknown[]): this {
        const { defaultHeaders } = this.req.state;
        const { req } = this;
        if (isBodyIncomplete(req) || req.hasSmallChunks) this.setHeader('Connection', 'close');
        // Writing a list takes Node half the time of setting each header.
        if (rest.length === 0 && this.getHeaderNames().length === 0) {
          return super.writeHead(status, defaultHeaders);
        }
        for (let index = 0; index < defaultHeaders.length; index += 2) {
          const name = defaultHeaders[index] ?? '';
          const value = defaultHeaders[index + 1] ?? '';
          if (!this.hasHeader(name)) this.setHeader(name, value);
        }
        return super.writeHead(status, ...(rest as []));
      }

      /** A middleware such as `compression` looks for the type of the answer. */
      override getHeader(name: string): number | string | string[] | undefined {
        return super.getHeader(name) ?? findDefaultHeader(this.req.state.defaultHeaders, name);
      }

      override write(...args: unknown[]): boolean {
        const isTaken = super.write(...(args as [string]));
        countUnsent(this);
        return isTaken;
      }

      override end(...rest: unknown[]): this {
        if (!isBodyIncomplete(this.req)) {
          super.end(...(rest as []));
          countUnsent(this);
          return this;
        }
        // A further call has no effect.
        if (!this.isEnding) this.endEarly(rest);
        return this;
      }

      /** Ends an answer before the end of its request, and thereby its connection. */
      private endEarly(rest: unknown[]): void {
        this.isEnding = true;
        const callback = rest.find((value) => typeof value === 'function');
        const [data, encoding] = rest.filter((value) => value !== callback);
        writeLast(this, data as string | undefined, encoding as BufferEncoding | undefined);
        void discardRest(this.req).then(() => super.end(callback as (() => void) | undefined));
      }
    }
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
   * Says once for each route that a body was sent, but is not there for who asks for it, such as a
   * guard of Passport.
   */
  private warnUnread(
    request: IncomingMessage & { readonly route?: { readonly path: string } },
  ): void {
    const { method = '', headers, route } = request;
    const isSent = Number(headers['content-length']) > 0 || 'transfer-encoding' in headers;
    const name = route === undefined ? 'Middleware' : `${method} ${route.path}`;
    if (!isSent || this.warned.has(name)) return;
    this.warned.add(name);
    this.log.warn(
      `${name}: request.body is undefined here. It is read after the token was checked, and only for a handler with @Body() or @RawBody()`,
    );
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
  // Node skips what follows an upgrade of the protocol, for which this number stands.
  if (parser) parser.onIncoming = () => 2;
}
