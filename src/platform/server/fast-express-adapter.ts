import { ExpressAdapter } from '@nestjs/platform-express';
import { Logger, type NestApplicationOptions } from '@nestjs/common';
import type { Express, Response } from 'express';
import {
  createServer,
  IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { JsonPieces, JsonText } from '../json/json-text.js';
import { writeJson } from '../json/json-writer.js';
import { sendPieces } from './send-pieces.js';
import { STORE_HEADER, stopListening, storeHeader } from './node-internals.js';
import { JSON_TYPE } from './send-json.js';

/** From which length on answers are counted that have not been sent, in characters. */
const LARGE_ANSWER = 128 * 1024;
/** How long all of them may be together. */
const MAX_UNSENT = 128 * 1024 * 1024;

type HeadArguments = [
  reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
  headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
];

/** Headers that an answer has unless it sets one of them by itself. */
export interface HeaderBlock {
  /** In lower case. */
  readonly names: readonly string[];
  /** The same headers as lines, which are written as they are: nothing that a client sent unchecked. */
  readonly text: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Writes headers as lines. */
export function headerBlock(fields: Readonly<Record<string, string>>): HeaderBlock {
  return {
    names: Object.keys(fields).map((name) => name.toLowerCase()),
    text: Object.entries(fields)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join(''),
    fields,
  };
}

const JSON_HEADERS = headerBlock({ 'Content-Type': JSON_TYPE });

/** What the server creates. */
interface BlockResponse extends ServerResponse {
  readonly blocks: HeaderBlock[];
}

/**
 * Adds headers to an answer that are written as one text, where Node would check and write each by
 * itself.
 */
export function addHeaders(response: ServerResponse, block: HeaderBlock): void {
  (response as BlockResponse).blocks.push(block);
}

/**
 * The adapter of Nest for Express, faster and with a server that closes no idle connection by itself.
 *
 * Express sets the prototype of every request and response, which takes both out of V8's fast path
 * and costs two thirds of the throughput. Here the server creates them with that very prototype, so
 * that setting it has no effect.
 */
export class FastExpressAdapter extends ExpressAdapter {
  private readonly log = new Logger('Http');

  override initHttpServer(options: NestApplicationOptions): void {
    const { httpsOptions } = options;
    const express = this.getInstance<Express>();
    class ExpressRequest extends IncomingMessage {}
    class ExpressResponse<Req extends IncomingMessage = IncomingMessage>
      extends ServerResponse<Req>
      implements BlockResponse
    {
      readonly blocks: HeaderBlock[] = [];
      private lines = '';

      override writeHead(status: number, ...rest: HeadArguments): this {
        const own = [...this.getHeaderNames(), ...namesOf(rest)];
        this.lines = '';
        for (const block of this.blocks) {
          if (block.names.some((name) => own.includes(name))) setMissing(this, block, own);
          else this.lines += block.text;
        }
        return super.writeHead(status, ...(rest as []));
      }

      [STORE_HEADER](firstLine: string, headers: unknown): void {
        storeHeader.call(this, firstLine + this.lines, headers);
      }
    }
    express.request = inherit(ExpressRequest, express.request);
    express.response = inherit(ExpressResponse, express.response);
    const classes = { IncomingMessage: ExpressRequest, ServerResponse: ExpressResponse };
    this.setHttpServer(
      httpsOptions === undefined
        ? createServer(classes, express)
        : createSecureServer({ ...httpsOptions, ...classes }, express),
    );
  }

  /** Leaves idle connections open, for the grace time of a stop. */
  override async close(): Promise<void> {
    await stopListening(this.httpServer);
  }

  /** Answers with a plain object as Express's `json()` would, without reading its settings. */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (body instanceof JsonPieces) return this.replyInPieces(response, body, statusCode);
    if (!isPlainObject(body) && !(body instanceof JsonText))
      return super.reply(response, body, statusCode) as unknown;
    if (statusCode !== undefined) response.statusCode = statusCode;
    const text = writeJson(body);
    if (text.length > LARGE_ANSWER) limitUnsent(response, text.length);
    addHeaders(response, JSON_HEADERS);
    // Otherwise Node writes it by itself.
    if (response.req.method === 'HEAD' || response.req.httpVersion !== '1.1')
      response.setHeader('Content-Length', Buffer.byteLength(text));
    return response.end(text);
  }

  private replyInPieces(
    response: Response,
    { open }: JsonPieces,
    statusCode?: number,
  ): Promise<void> {
    if (statusCode !== undefined) response.statusCode = statusCode;
    addHeaders(response, JSON_HEADERS);
    return sendPieces(response, open(), (error) => this.log.error(error));
  }
}

/** The names of the headers that are given to `writeHead()`, in lower case. */
function namesOf(rest: HeadArguments): string[] {
  const fields = rest.at(-1);
  if (typeof fields !== 'object') return [];
  const names = Array.isArray(fields)
    ? fields.flat().filter((_, index) => index % 2 === 0)
    : Object.keys(fields);
  return names.map((name) => String(name).toLowerCase());
}

function setMissing(response: ServerResponse, { fields }: HeaderBlock, own: string[]): void {
  for (const [name, value] of Object.entries(fields)) {
    if (!own.includes(name.toLowerCase())) response.setHeader(name, value);
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
