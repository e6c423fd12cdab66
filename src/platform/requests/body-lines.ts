import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Client, getClient } from '../limits/client.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { CompiledDto } from '../validation/compiled-dto.js';
import {
  BODY_LIMIT,
  checkMediaType,
  continueIfExpected,
  GrowingBuffer,
  RequestAbortedError,
  waitingBodies,
} from './body-reader.js';
import { parseObject } from './json-body.js';
import { holdReading, releaseReading } from './socket-reading.js';

/** JSON with one value per line. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** The least average speed of a client, in bytes per millisecond of waiting for it. */
const MIN_RATE = 1;
/** How many bytes are read as one batch: a longer commit would delay those of others. */
const BATCH_BYTES = 64 * 1024;
/** How many lines are read as one batch, so that other requests are handled between batches. */
const BATCH_LINES = 1_024;

const LINE_FEED = 0x0a;
/** A line of only spaces and tabs, which is skipped. */
const BLANK = /^[ \t]*\r?$/;

/** Some lines of a body, without those that are blank. */
export interface LineBatch<Dto> {
  /** The client that sent them. */
  readonly client: Client;
  /** Their size in bytes, as they were sent. */
  readonly size: number;
  readonly values: Dto[];
  /** The number of the line of each value, from 1. */
  readonly numbers: number[];
  /** The errors of the other lines, by their numbers. */
  readonly failures: Map<number, ApiError>;
  /** How long reading the lines took, in milliseconds. */
  readonly readMs: number;
}

/** The last request on each connection whose body has its own time limits. */
const withOwnLimits = new WeakMap<Socket, IncomingMessage>();

/** Whether the request that arrives on a connection is exempt from the limit for whole requests. */
export function hasOwnTimeLimits(socket: Socket): boolean {
  return withOwnLimits.get(socket)?.complete === false;
}

/**
 * The body of a request as lines of JSON, each read as an instance of a class like a body of its
 * own. The lines are iterated in batches. Each batch is read only when it is requested. Until then
 * the client can send only as much as the operating system buffers, so a body may have any length.
 */
export class BodyLines<Dto extends object> implements AsyncIterable<LineBatch<Dto>> {
  private readonly client: Client;
  private lastNumber = 0;

  /**
   * @param timeoutMs how long the client may send nothing, and how long it may send too slowly
   * @param stop aborts when the server stops
   */
  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly dto: CompiledDto,
    private readonly timeoutMs: number,
    private readonly stop: AbortSignal,
  ) {
    this.client = getClient(request);
  }

  /**
   * @throws ApiError 41500; 40800 when the client is too slow; 50300 when the server stops, or too
   *   many bodies arrive at a time
   * @throws RequestAbortedError
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<LineBatch<Dto>, void, undefined> {
    /** The start of an incomplete line. Of one that is too long, only as much as proves it. */
    const rest = new GrowingBuffer(BODY_LIMIT + 2);
    const refused = new AbortController();
    const refuse = (): void => refused.abort();
    const holding = waitingBodies.hold(this.client, refuse);
    this.stop.addEventListener('abort', refuse);
    if (this.stop.aborted) refuse();
    try {
      for await (const chunk of this.readChunks(refused.signal)) {
        const end = chunk.lastIndexOf(LINE_FEED);
        holding.update(rest.capacity + chunk.length);
        if (end !== -1) {
          const lines = chunk.subarray(0, end);
          yield* this.readLines(rest.isEmpty ? lines : Buffer.concat([rest.bytes, lines]));
          rest.clear();
        }
        rest.add(chunk.subarray(end + 1));
        holding.update(rest.capacity);
      }
      if (!rest.isEmpty) yield* this.readLines(rest.bytes);
    } finally {
      this.stop.removeEventListener('abort', refuse);
      holding.end();
    }
  }

  private *readLines(bytes: Buffer): Generator<LineBatch<Dto>, void, undefined> {
    // Decoding and checking many lines at once takes a third of the time.
    const texts = isUtf8(bytes) ? bytes.toString().split('\n') : splitLines(bytes);
    if (texts.length <= BATCH_LINES) {
      yield this.readBatch(texts, bytes.length);
      return;
    }
    // The halves are split again, so that the texts of all lines are not kept between batches.
    const half = bytes.length >> 1;
    const next = bytes.indexOf(LINE_FEED, half);
    const middle = next === -1 ? bytes.lastIndexOf(LINE_FEED, half) : next;
    yield* this.readLines(bytes.subarray(0, middle));
    yield* this.readLines(bytes.subarray(middle + 1));
  }

  private readBatch(texts: readonly (string | Buffer)[], size: number): LineBatch<Dto> {
    const values: Dto[] = [];
    const numbers: number[] = [];
    const failures = new Map<number, ApiError>();
    const began = performance.now();
    const { stackTraceLimit } = Error;
    // Nobody sees the stack of a refused line, and recording it takes longer than reading the line.
    Error.stackTraceLimit = 0;
    try {
      for (const text of texts) {
        const number = ++this.lastNumber;
        try {
          const value = this.readLine(text);
          if (value === undefined) continue;
          values.push(value);
          numbers.push(number);
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          failures.set(number, error);
        }
      }
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
    return {
      client: this.client,
      size,
      values,
      numbers,
      failures,
      readMs: performance.now() - began,
    };
  }

  /**
   * @param line the bytes of the line if the batch is not UTF-8
   * @returns undefined for a blank line
   * @throws ApiError 40001, 40002, 41300
   */
  private readLine(line: string | Buffer): Dto | undefined {
    if (line.length > BODY_LIMIT / 3 && countBytes(line) > BODY_LIMIT) {
      const message = `The line is longer than ${BODY_LIMIT} bytes`;
      throw new ApiError(ErrorCatalogue.BODY_TOO_LARGE, message);
    }
    if (typeof line !== 'string' && !isUtf8(line)) {
      throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The line is not UTF-8');
    }
    const text = line.toString();
    return BLANK.test(text) ? undefined : (parseObject(text, this.dto, 'line') as Dto);
  }

  /** @param signal aborts when the body must not be read further */
  private async *readChunks(signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const { request, response } = this;
    checkMediaType(request, [NDJSON_TYPE]);
    continueIfExpected(request, response);
    const { socket } = request;
    withOwnLimits.set(socket, request);
    let received = 0;
    let waitedMs = 0;
    try {
      while (!request.readableEnded) {
        if (request.destroyed) throw new RequestAbortedError();
        if (signal.aborted) throw new ApiError(ErrorCatalogue.UNAVAILABLE);
        const chunk = request.read() as Buffer | null;
        if (chunk !== null) {
          received += chunk.length;
          // Otherwise the request would buffer further bytes, which nobody counts.
          holdReading(socket, this);
          try {
            for (let start = 0; start < chunk.length; start += BATCH_BYTES) {
              yield chunk.subarray(start, start + BATCH_BYTES);
            }
          } finally {
            releaseReading(socket, this);
          }
          continue;
        }
        // Only the time of waiting for the client counts.
        const began = performance.now();
        const credit = this.timeoutMs + received / MIN_RATE - waitedMs;
        await this.waitForInput(Math.min(this.timeoutMs, credit), signal);
        waitedMs += performance.now() - began;
      }
    } finally {
      withOwnLimits.delete(socket);
    }
  }

  /**
   * Resolves when there is something to read, the body has ended, or the signal aborts.
   *
   * @throws ApiError 40800
   */
  private async waitForInput(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { request } = this;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        forget();
        reject(new ApiError(ErrorCatalogue.REQUEST_TIMEOUT));
      }, timeoutMs);
      const onInput = (): void => {
        forget();
        resolve();
      };
      const forget = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onInput);
        request.off('readable', onInput).off('end', onInput).off('close', onInput);
      };
      signal.addEventListener('abort', onInput);
      request.on('readable', onInput).on('end', onInput).on('close', onInput);
    });
  }
}

/** The length of a line without a carriage return at its end. */
function countBytes(line: string | Buffer): number {
  const end = line.at(-1);
  return Buffer.byteLength(line) - (end === '\r' || end === 0x0d ? 1 : 0);
}

function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end; (end = bytes.indexOf(LINE_FEED, start)) !== -1; start = end + 1) {
    lines.push(bytes.subarray(start, end));
  }
  lines.push(bytes.subarray(start));
  return lines;
}
