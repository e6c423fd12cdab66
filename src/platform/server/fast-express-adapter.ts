import { Logger, StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { writeJson } from '../json/json-writer.js';
import { convertResult } from '../requests/request-binding.guard.js';
import { endTurn } from '../requests/turns.js';
import { addDefaultHeaders, type DefaultHeaders } from './default-headers.js';
import { JSON_TYPE } from './send-error.js';
import { answerUnmatched } from './unmatched-requests.js';
import { countUnsent, sendStream, GeneratedAnswer } from './send-stream.js';

// This file depends on internals of Node's HTTP server: `httpAllowHalfOpen`, which its documentation
// leaves out, and the members of a connection's parser. fast-express-adapter.spec.ts fails if a
// version of Node changes them.

/** How often Node checks the time limit for headers, in milliseconds. */
const TIME_CHECK_MS = 1_000;
/** How many chunks of a body may have any length. */
export const FREE_CHUNKS = 256;
/** How many bytes further chunks must have on average. */
const MIN_CHUNK = 16;
/** Texts of this length or longer are sent as bytes, so that those which are not read are counted. */
const LONG_TEXT = 16 * 1024;

/**
 * Creates Express for an API: paths are exact, answers get no further headers, and `json()` writes
 * a bigint as an exact integer. The router reads the settings when the first route is added, so
 * they must be set before Nest gets the instance.
 */
export function createExpress(): Express {
  const app = express()
    .enable('case sensitive routing')
    .enable('strict routing')
    .disable('x-powered-by')
    .disable('etag');
  app.response.json = function json(this: Response, body: unknown): Response {
    if (!this.hasHeader('Content-Type')) this.type('json');
    return this.send(writeJson(body));
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
  private readonly log = new Logger('Http');

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    class ExpressRequest extends IncomingMessage {
      private chunks = 0;
      private bytes = 0;

      /** Parsing a chunk of one byte takes as long as parsing a large one. */
      override push(chunk: Buffer | null): boolean {
        this.bytes += chunk?.length ?? 0;
        if (++this.chunks > FREE_CHUNKS + this.bytes / MIN_CHUNK) destroyUnparsed(this.socket);
        return super.push(chunk);
      }
    }
    class ExpressResponse<Req extends IncomingMessage = IncomingMessage>
      extends ServerResponse<Req>
      implements DefaultHeaders
    {
      readonly defaultHeaders: string[] = [];

      override writeHead(status: number, ...rest: unknown[]): this {
        const { defaultHeaders } = this;
        // Writing a list takes Node half the time of setting each header.
        if (rest.length === 0 && this.getHeaderNames().length === 0) {
          return super.writeHead(status, defaultHeaders);
        }
        for (let index = 0; index < defaultHeaders.length; index += 2) {
          const [name = '', value = ''] = defaultHeaders.slice(index);
          if (!this.hasHeader(name)) this.setHeader(name, value);
        }
        return super.writeHead(status, ...(rest as []));
      }

      override end(...rest: unknown[]): this {
        super.end(...(rest as []));
        countUnsent(this);
        return this;
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
   * Stops listening. The HTTP server's own `close()` would also close idle connections, which a stop
   * keeps for its grace time.
   */
  override async close(): Promise<void> {
    await new Promise((resolve) => NetServer.prototype.close.call(this.httpServer, resolve));
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
    const body = convertResult(result, response);
    if (body instanceof GeneratedAnswer || body instanceof StreamableFile) {
      return sendStream(response, body, (error) => this.log.error(error));
    }
    if (body instanceof Uint8Array) return response.send(body);
    if (typeof body !== 'object' || body === null || body instanceof Error) {
      return super.reply(response, body) as unknown;
    }
    const text = writeJson(body);
    addDefaultHeaders(response, 'Content-Type', JSON_TYPE);
    // Otherwise Node sets it itself.
    if (response.req.method === 'HEAD' || response.req.httpVersion !== '1.1')
      response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text.length < LONG_TEXT ? text : Buffer.from(text));
  }
}

/** Makes a class inherit the members that Express adds, and returns the prototype for Express. */
function inherit<Members extends object>(base: { prototype: object }, members: Members): Members {
  return Object.setPrototypeOf(base.prototype, members) as Members;
}

/** The parser of a connection: functions under numbers and names, of which most are private. */
type Parser = Record<string, unknown>;

function getParser(socket: Socket): Parser | undefined {
  return (socket as { parser?: Parser | null }).parser ?? undefined;
}

/** Skips everything that is read on a connection after the current request. */
export function stopParsing(socket: Socket): void {
  const parser = getParser(socket);
  // Node skips what follows an upgrade of the protocol, for which this number stands.
  if (parser) parser.onIncoming = () => 2;
}

/**
 * Closes a connection from within its parser, which then skips the chunks of a body that were read
 * together with the last one.
 */
export function destroyUnparsed(socket: Socket): void {
  const parser = getParser(socket);
  const onBody = Object.entries(parser ?? {}).find(
    ([, member]) => typeof member === 'function' && member.name === 'parserOnBody',
  );
  if (parser && onBody) {
    const [key, handler] = onBody;
    parser[key] = undefined;
    // Node uses the parser again for another connection.
    setImmediate(() => (parser[key] = handler));
  }
  socket.destroy();
}
