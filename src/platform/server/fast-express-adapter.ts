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
import { endTurn } from '../requests/request-turns.js';
import { countChunk } from './body-pace.js';
import { stopListening } from './node-internals.js';
import { JSON_TYPE } from './send-json.js';
import { sendStream, TextStream } from './send-stream.js';
import { countUnsent } from './unsent-answers.js';

/**
 * Express for an API: paths are exact, nothing is added to answers, and a bigint in one is an exact
 * integer. The router reads the settings once, when the first route is made, so they belong on the
 * instance Nest is given.
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

interface DefaultHeaders {
  /** Each name is followed by its value. */
  readonly defaultHeaders: string[];
}

/**
 * Adds headers that an answer has unless it sets them itself. Like Node's own `Date`, they are added
 * when the head is written: `getHeader()` does not know them.
 */
export function addDefaultHeaders(response: ServerResponse, ...namesAndValues: string[]): void {
  (response as ServerResponse & DefaultHeaders).defaultHeaders.push(...namesAndValues);
}

type HeadArguments = [
  reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
  headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
];

/**
 * The adapter of Nest for Express, faster and with a server that closes no idle connection by itself.
 *
 * Express sets the prototype of every request and response, which takes both out of V8's fast path
 * and costs two thirds of the throughput. Here the server creates them with that very prototype, so
 * that setting it has no effect.
 */
export class FastExpressAdapter extends ExpressAdapter {
  private readonly log = new Logger('Http');

  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    class ExpressRequest extends IncomingMessage {
      private chunks = 0;

      override push(chunk: unknown, encoding?: BufferEncoding): boolean {
        if (chunk !== null) countChunk(this.socket, ++this.chunks);
        return super.push(chunk, encoding);
      }
    }
    class ExpressResponse<Req extends IncomingMessage = IncomingMessage>
      extends ServerResponse<Req>
      implements DefaultHeaders
    {
      readonly defaultHeaders: string[] = [];

      override writeHead(status: number, ...rest: HeadArguments): this {
        const { defaultHeaders } = this;
        // Node writes a list in half the time that it takes to set each header.
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
    this.setHttpServer(createServer(classes, app));
  }

  /** Leaves idle connections open, for the grace time of a stop. */
  override async close(): Promise<void> {
    await stopListening(this.httpServer);
  }

  /** Answers with an object as Express's `json()` would, without reading its settings. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    endTurn(response);
    if (statusCode !== undefined) response.statusCode = statusCode;
    if (body instanceof TextStream || body instanceof StreamableFile) {
      return sendStream(response, body, (error) => this.log.error(error));
    }
    if (!isJson(body)) return super.reply(response, body, statusCode) as unknown;
    const text = writeJson(body);
    addDefaultHeaders(response, 'Content-Type', JSON_TYPE);
    // Otherwise Node writes it by itself.
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

/** Makes a class inherit what Express adds, and returns what Express is to use as the prototype. */
function inherit<Members extends object>(base: { prototype: object }, members: Members): Members {
  return Object.setPrototypeOf(base.prototype, members) as Members;
}
