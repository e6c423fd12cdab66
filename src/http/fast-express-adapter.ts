import { ExpressAdapter } from '@nestjs/platform-express';
import type { NestApplicationOptions } from '@nestjs/common';
import type { Express, Response } from 'express';
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { JsonText } from '../json/json-text.js';
import { writeJson } from '../json/json-writer.js';
import { stopListening } from './node-http.js';
import { JSON_TYPE } from './send-json.js';

/** From which length on answers are counted that have not been sent, in characters. */
const LARGE_ANSWER = 128 * 1024;
/** How long all of them may be together. */
const MAX_UNSENT = 128 * 1024 * 1024;

/**
 * The adapter of Nest for Express, faster and with a server that closes no idle connection by itself.
 *
 * Express sets the prototype of every request and response, which takes both out of V8's fast path
 * and costs two thirds of the throughput. Here the server creates them with that very prototype, so
 * that setting it has no effect.
 */
export class FastExpressAdapter extends ExpressAdapter {
  override initHttpServer(options: NestApplicationOptions): void {
    if (options.httpsOptions !== undefined) {
      super.initHttpServer(options);
      return;
    }
    const express = this.getInstance<Express>();
    class ExpressRequest extends IncomingMessage {}
    class ExpressResponse extends ServerResponse {}
    express.request = inherit(ExpressRequest, express.request);
    express.response = inherit(ExpressResponse, express.response);
    this.setHttpServer(
      createServer({ IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse }, express),
    );
  }

  /** Leaves idle connections open, for the grace time of a stop. */
  override async close(): Promise<void> {
    await stopListening(this.httpServer);
  }

  /** Answers with a plain object as Express's `json()` would, without reading its settings. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (!isPlainObject(body) && !(body instanceof JsonText))
      return super.reply(response, body, statusCode) as unknown;
    if (statusCode !== undefined) response.statusCode = statusCode;
    const text = writeJson(body);
    if (text.length > LARGE_ANSWER) limitUnsent(response, text.length);
    response.setHeader('Content-Type', JSON_TYPE);
    response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text);
  }
}

let unsent = 0;

/** Clients that ask for much and do not read must not use up the memory. */
function limitUnsent(response: Response, size: number): void {
  // One whose client has gone already never closes again.
  if (response.closed) return;
  if (unsent + size > MAX_UNSENT) throw new ApiError(ErrorCatalogue.UNAVAILABLE);
  unsent += size;
  response.once('close', () => (unsent -= size));
}

function isPlainObject(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}

/** Makes a class inherit what Express adds, and returns what Express is to use as the prototype. */
function inherit<Members extends object>(base: { prototype: object }, members: Members): Members {
  return Object.setPrototypeOf(base.prototype, members) as Members;
}
