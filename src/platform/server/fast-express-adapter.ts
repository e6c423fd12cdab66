import { Logger, StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type Response } from 'express';
import {
  createServer,
  IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import { writeJson } from '../json/json-writer.js';
import { convertResult } from '../requests/convert-result.js';
import { endTurn } from '../requests/concurrent-requests.js';
import { addDefaultHeaders, type DefaultHeaders } from './default-headers.js';
import { countChunk, JoinedChunks } from './chunk-rate.js';
import { discardBody } from '../requests/discard-body.js';
import { stopListening } from './node-internals.js';
import { hasTooManyTrailers } from './http-rules.js';
import { JSON_TYPE } from './send-error.js';
import { sendStream, TextStream } from './send-stream.js';
import { countUnsent } from './unsent-bytes-limit.js';

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

type HeadArguments = [
  reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
  headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
];

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
      private joined: JoinedChunks | undefined;

      override push(chunk: Buffer | null): boolean {
        if (chunk === null) {
          if (hasTooManyTrailers(this)) return this.refuseTrailers();
          this.joined?.flush();
        } else if (countChunk(this.socket, ++this.chunks)) {
          this.joined ??= new JoinedChunks(this, (bytes) => super.push(bytes));
          return this.joined.add(chunk);
        }
        return super.push(chunk);
      }

      /**
       * False also for CONNECT. Otherwise Node would remove the listeners of the socket, which the
       * answers to earlier requests need.
       */
      get upgrade(): boolean {
        return false;
      }

      set upgrade(_: boolean) {
        // Node sets it from the request.
      }

      /**
       * Discards the rest of the body after an early answer. Node's own way would bypass the count of
       * chunks in push(), and has no limit.
       */
      _dump(): void {
        if (this.complete) this.resume();
        else discardBody(this, () => this.complete || this.socket.destroySoon());
      }

      /** Reports the body as malformed, in place of its end. */
      private refuseTrailers(): boolean {
        this.complete = false;
        server.emit('clientError', { code: 'HPE_HEADER_OVERFLOW' }, this.socket);
        return false;
      }
    }
    class ExpressResponse<Req extends IncomingMessage = IncomingMessage>
      extends ServerResponse<Req>
      implements DefaultHeaders
    {
      readonly defaultHeaders: string[] = [];

      override writeHead(status: number, ...rest: HeadArguments): this {
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
    const classes = { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
    const server = createServer(classes, app);
    this.setHttpServer(server);
  }

  /** Stops listening, but keeps idle connections for the grace time of a stop. */
  override async close(): Promise<void> {
    await stopListening(this.httpServer);
  }

  /** Answers with an object as Express's `json()` would, without reading its settings. */
  override reply(response: Response, result: unknown, statusCode?: number): unknown {
    endTurn(response);
    if (statusCode !== undefined) response.statusCode = statusCode;
    const body = convertResult(result, response);
    if (body instanceof TextStream || body instanceof StreamableFile) {
      return sendStream(response, body, (error) => this.log.error(error));
    }
    if (!isJson(body)) return super.reply(response, body) as unknown;
    const text = writeJson(body);
    addDefaultHeaders(response, 'Content-Type', JSON_TYPE);
    // Otherwise Node sets it itself.
    if (response.req.method === 'HEAD' || response.req.httpVersion !== '1.1')
      response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text);
  }
}

/** Whether Nest would answer with a body as JSON. */
function isJson(body: unknown): body is object {
  if (typeof body !== 'object' || body === null) return false;
  return !(body instanceof Error || body instanceof Uint8Array);
}

/** Makes a class inherit the members that Express adds, and returns the prototype for Express. */
function inherit<Members extends object>(base: { prototype: object }, members: Members): Members {
  return Object.setPrototypeOf(base.prototype, members) as Members;
}
