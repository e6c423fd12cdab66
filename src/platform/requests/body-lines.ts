import type { Request, Response } from 'express';
import { isUtf8 } from 'node:buffer';
import { getClient } from '../limits/client.js';
import { clientMemory } from '../limits/fair-share.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { CompiledDto } from '../validation/compiled-dto.js';
import {
  BODY_LIMIT,
  checkMediaType,
  continueIfExpected,
  countHead,
  GrowingBuffer,
  parseObject,
  RequestAbortedError,
} from './body-reader.js';

/** JSON with one value per line. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** How many bytes are read before they are split: longer batches would delay commits of others. */
const BATCH_BYTES = 64 * 1024;
/** How many lines are read at once, so that other requests are handled between batches. */
const BATCH_LINES = 1_024;

/** How many bytes Node reads ahead while a batch waits for its turn. */
const READ_AHEAD = 128 * 1024;

const LINE_FEED = 0x0a;
/** A line of only spaces and tabs, which is skipped. */
const BLANK = /^[ \t]*\r?$/;

/** The lines of a batch, without those that are blank. */
export interface ReadLines<Dto> {
  readonly values: Dto[];
  /** The number of the line of each value, from 1. */
  readonly numbers: number[];
  /** The errors of the other lines, by their numbers. */
  readonly failures: Map<number, ApiError>;
}

/**
 * The body of a request as lines of JSON, each read as an instance of a class like a body of its
 * own. The lines are iterated in batches, each a function that reads its lines, to be called once.
 * Until the next batch is requested, the client can send only as much as Node and the operating
 * system buffer, so a body may have any length.
 */
export class BodyLines<Dto extends object> implements AsyncIterable<() => ReadLines<Dto>> {
  private readonly ended = new AbortController();
  private resultBytes = 0;
  private lastNumber = 0;

  /**
   * @param timeoutMs how long the client may send nothing
   * @param stop aborts when the server stops
   */
  constructor(
    readonly request: Request,
    readonly response: Response,
    private readonly dto: CompiledDto,
    private readonly timeoutMs: number,
    private readonly stop: AbortSignal,
  ) {}

  /**
   * @throws ApiError 41500; 40800 when the client is too slow; 50300 when the server stops, or the
   *   bodies of all clients are too much to hold
   * @throws RequestAbortedError
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<() => ReadLines<Dto>, void, undefined> {
    const { request, response, stop, ended } = this;
    const head = countHead(request) + READ_AHEAD;
    /** The start of an incomplete line; of a line that is too long, only as much as shows that. */
    const rest = new GrowingBuffer(BODY_LIMIT + 2);
    const refuse = (): void => ended.abort(new ApiError(ErrorCatalogue.UNAVAILABLE));
    const leave = (): void => ended.abort(new RequestAbortedError());
    const holding = clientMemory.hold(getClient(request), refuse);
    response.on('close', leave);
    stop.addEventListener('abort', refuse);
    if (stop.aborted) refuse();
    holding.update(head + rest.capacity);
    try {
      for await (const chunk of this.readChunks()) {
        const end = chunk.lastIndexOf(LINE_FEED);
        holding.update(head + this.resultBytes + rest.capacity + chunk.length);
        if (end !== -1) {
          const lines = chunk.subarray(0, end);
          const bytes = rest.isEmpty ? lines : Buffer.concat([rest.bytes, lines]);
          if (bytes !== lines) holding.update(holding.amount + bytes.length);
          for (const batch of splitBatches(bytes)) yield () => this.readBatch(batch);
          rest.clear();
        }
        rest.add(chunk.subarray(end + 1));
        holding.update(head + this.resultBytes + rest.capacity);
      }
      if (!rest.isEmpty) yield () => this.readBatch(rest.bytes);
    } finally {
      response.off('close', leave);
      stop.removeEventListener('abort', refuse);
      holding.end();
    }
  }

  /** Sets how much memory the results of the batches take, which counts from the next chunk on. */
  setResultBytes(bytes: number): void {
    this.resultBytes = bytes;
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

  /** @throws the reason of the signal, ApiError 40800, 41500, RequestAbortedError */
  private async *readChunks(): AsyncGenerator<Buffer, void, undefined> {
    const { request, response } = this;
    const { signal } = this.ended;
    checkMediaType(request, { mediaTypes: [NDJSON_TYPE], isText: true });
    continueIfExpected(request, response);
    while (!request.readableEnded) {
      if (request.destroyed) throw new RequestAbortedError();
      signal.throwIfAborted();
      const chunk = request.read() as Buffer | null;
      if (chunk === null) await this.waitForInput(signal);
      else
        for (let start = 0; start < chunk.length; start += BATCH_BYTES) {
          yield chunk.subarray(start, start + BATCH_BYTES);
        }
    }
  }

  /**
   * Resolves when there is something to read, the body has ended, or the signal aborts.
   *
   * @throws ApiError 40800
   */
  private async waitForInput(signal: AbortSignal): Promise<void> {
    const { request, timeoutMs } = this;
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

/** Splits complete lines into batches. The end of a batch is looked for when it is requested. */
function* splitBatches(bytes: Buffer): Generator<Buffer, void, undefined> {
  let start = 0;
  let lines = 0;
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, end + 1)) {
    lines++;
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
