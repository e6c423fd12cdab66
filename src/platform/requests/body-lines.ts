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
/** How many bytes are stored as one batch: a longer commit would delay those of others. */
const BATCH_BYTES = 64 * 1024;
/** How many lines are read at once, so that other requests are handled between batches. */
const BATCH_LINES = 1_024;

const LINE_FEED = 0x0a;
/** A line of only spaces and tabs, which is skipped. */
const BLANK = /^[ \t]*\r?$/;

/** Some lines of a body. Until they are read, they take no more memory than their bytes. */
export interface LineBatch<Dto> {
  /** The client that sent them. */
  readonly client: Client;
  /** Aborts when the body is read no further. Its reason is the error. */
  readonly signal: AbortSignal;
  /** Reads the lines. Every batch is read once, before the next one is requested. */
  read(): ReadLines<Dto>;
  /** Counts what is kept of this body and the earlier ones as memory of the client, in bytes. */
  keep(bytes: number): void;
}

/** The lines of a batch, without those that are blank. */
export interface ReadLines<Dto> {
  readonly values: Dto[];
  /** The number of the line of each value, from 1. */
  readonly numbers: number[];
  /** The errors of the other lines, by their numbers. */
  readonly failures: Map<number, ApiError>;
}

/** The last request on each connection whose body has its own time limits. */
const withOwnLimits = new WeakMap<Socket, IncomingMessage>();

/** Whether the request that arrives on a connection is exempt from the limit for whole requests. */
export function hasOwnTimeLimits(socket: Socket): boolean {
  return withOwnLimits.get(socket)?.complete === false;
}

/**
 * The body of a request as lines of JSON, each read as an instance of a class like a body of its
 * own. The lines are iterated in batches. Until the next batch is requested, the client can send only as
 * much as the operating system buffers, so a body may have any length.
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
   * @throws ApiError 41500; 40800 when the client is too slow; 50300 when the server stops, or the
   *   bodies of all clients are too much to hold
   * @throws RequestAbortedError
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<LineBatch<Dto>, void, undefined> {
    const { client, response, stop } = this;
    /** The start of an incomplete line. Of one that is too long, only as much as proves it. */
    const rest = new GrowingBuffer(BODY_LIMIT + 2);
    const ended = new AbortController();
    const refuse = (): void => ended.abort(new ApiError(ErrorCatalogue.UNAVAILABLE));
    const leave = (): void => ended.abort(new RequestAbortedError());
    const holding = waitingBodies.hold(client, refuse);
    let kept = 0;
    const keep = (bytes: number): void => {
      kept = bytes;
    };
    const toBatch = (bytes: Buffer): LineBatch<Dto> => {
      return { client, signal: ended.signal, read: () => this.readBatch(bytes), keep };
    };
    response.on('close', leave);
    stop.addEventListener('abort', refuse);
    if (stop.aborted) refuse();
    try {
      for await (const chunk of this.readChunks(ended.signal)) {
        const end = chunk.lastIndexOf(LINE_FEED);
        if (end === -1) holding.update(kept + rest.capacity + chunk.length);
        else {
          const lines = chunk.subarray(0, end);
          const bytes = rest.isEmpty ? lines : Buffer.concat([rest.bytes, lines]);
          holding.update(kept + rest.capacity + chunk.length + bytes.length);
          for (const batch of splitBatches(bytes)) yield toBatch(batch);
          rest.clear();
        }
        rest.add(chunk.subarray(end + 1));
        holding.update(kept + rest.capacity);
      }
      if (!rest.isEmpty) yield toBatch(rest.bytes);
    } finally {
      response.off('close', leave);
      stop.removeEventListener('abort', refuse);
      holding.end();
    }
  }

  private readBatch(bytes: Buffer): ReadLines<Dto> {
    const values: Dto[] = [];
    const numbers: number[] = [];
    const failures = new Map<number, ApiError>();
    const { stackTraceLimit } = Error;
    // Nobody sees the stack of a refused line, and recording it takes longer than reading the line.
    Error.stackTraceLimit = 0;
    try {
      // Decoding and checking many lines at once takes a third of the time.
      for (const line of isUtf8(bytes) ? bytes.toString().split('\n') : splitLines(bytes)) {
        const number = ++this.lastNumber;
        try {
          const value = this.readLine(line);
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
    return { values, numbers, failures };
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

  /** @param signal aborts when the body is read no further; its reason is thrown */
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
        signal.throwIfAborted();
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

/** Splits complete lines into batches without looking at further bytes than those of the next. */
function* splitBatches(bytes: Buffer): Generator<Buffer, void, undefined> {
  let start = 0;
  for (let end = -1, lines = 1; (end = bytes.indexOf(LINE_FEED, end + 1)) !== -1; lines++) {
    if (lines % BATCH_LINES !== 0) continue;
    yield bytes.subarray(start, end);
    start = end + 1;
  }
  yield bytes.subarray(start);
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
