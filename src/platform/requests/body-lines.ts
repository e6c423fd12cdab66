import type { Response } from 'express';
import { isUtf8 } from 'node:buffer';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { BodyChunks, GrowingBuffer } from './body-chunks.js';
import { checkMediaType, continueIfExpected, type JsonRule, parseObject } from './body-reader.js';

/** JSON with one value per line. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** How many lines are read and stored at once, so that other requests are handled meanwhile. */
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
  /** How much memory the results of the batches take, which counts from the next chunk on. */
  resultBytes = 0;
  private lastNumber = 0;

  /**
   * @param timeoutMs how long the client may send nothing
   * @param stop aborts when the server stops
   */
  constructor(
    readonly response: Response,
    private readonly rule: JsonRule,
    private readonly timeoutMs: number,
    private readonly stop: AbortSignal,
  ) {}

  /**
   * @throws ApiError 41500; 40800 when the client is too slow; 50300 when the server stops, or the
   *   bodies of all clients are too much to hold
   * @throws RequestAbortedError
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<() => ReadLines<Dto>, void, undefined> {
    const { response, rule, stop } = this;
    checkMediaType(response.req, rule);
    continueIfExpected(response);
    /** The start of an incomplete line; of a line that is too long, only as much as shows that. */
    const rest = new GrowingBuffer(rule.limit + 2);
    const chunks = new BodyChunks(response.req, this.timeoutMs);
    const hold = (bytes: number): void =>
      chunks.hold(READ_AHEAD + this.resultBytes + rest.capacity + bytes);
    const refuse = (): void => chunks.fail(ErrorCatalogue.UNAVAILABLE);
    stop.addEventListener('abort', refuse);
    if (stop.aborted) refuse();
    hold(0);
    try {
      for await (const chunk of chunks) {
        const end = chunk.lastIndexOf(LINE_FEED);
        if (end !== -1) {
          const lines = Buffer.concat([rest.bytes, chunk.subarray(0, end)]);
          hold(chunk.length + lines.length);
          for (const batch of splitLines(lines, BATCH_LINES)) yield () => this.readBatch(batch);
          rest.clear();
        }
        rest.add(chunk.subarray(end + 1));
        hold(0);
      }
      if (rest.length > 0) yield () => this.readBatch(rest.bytes);
    } finally {
      stop.removeEventListener('abort', refuse);
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
      for (const line of isUtf8(bytes) ? bytes.toString().split('\n') : splitLines(bytes, 1)) {
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
    const { limit, dto } = this.rule;
    if (line.length > limit / 3 && countBytes(line) > limit) {
      const message = `The line is longer than ${limit} bytes`;
      throw new ApiError(ErrorCatalogue.BODY_TOO_LARGE, message);
    }
    if (typeof line !== 'string' && !isUtf8(line)) {
      throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The line is not UTF-8');
    }
    const text = line.toString();
    return BLANK.test(text) ? undefined : (parseObject(text, dto, 'line') as Dto);
  }
}

/** The length of a line without a carriage return at its end. */
function countBytes(line: string | Buffer): number {
  const end = line.at(-1);
  return Buffer.byteLength(line) - (end === '\r' || end === 0x0d ? 1 : 0);
}

/** Splits text after each count of lines. The end of a part is looked for when it is requested. */
function* splitLines(bytes: Buffer, count: number): Generator<Buffer, void, undefined> {
  let start = 0;
  let lines = 0;
  for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, end + 1)) {
    lines++;
    if (lines % count !== 0) continue;
    yield bytes.subarray(start, end);
    start = end + 1;
  }
  yield bytes.subarray(start);
}
