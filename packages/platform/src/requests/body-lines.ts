import type { Response } from 'express';
import { isUtf8 } from 'node:buffer';
import type { Counter } from 'prom-client';
import { ApiError } from '../errors/api-error.js';
import type { ErrorDto } from '../errors/error.dto.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { READ_AHEAD } from '../limits/request-memory.js';
import { BodyChunks, GrowingBuffer } from './body-chunks.js';
import {
  checkMediaType,
  continueIfExpected,
  type JsonRule,
  parseObject,
  InputRefusal,
} from './body-reader.js';

/** JSON with one value per line. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** How many lines are read and stored at once, so that other requests are handled meanwhile. */
const BATCH_LINES = 1_024;

const LINE_FEED = 0x0a;
/** A line of only spaces and tabs, which is skipped. */
const BLANK = /^[ \t]*\r?$/;

/** What `curl -d @file` makes of the end of a line and the start of the next. */
const JOINED = '}{';
const JOINED_ADVICE = 'If curl -d has removed the line feeds, send the file with --data-binary';

/** The instance of a line, or why the line is refused. */
type LineResult<Dto> = Dto | InputRefusal;

/** The lines of a batch, without those that are blank. */
export interface ReadLines<Dto> {
  readonly values: Dto[];
  /** The number of the line of each value, from 1. */
  readonly numbers: number[];
  /** Why the other lines are refused, by their numbers. */
  readonly failures: Map<number, ErrorDto>;
}

/**
 * The body of a request as lines of JSON, each read as an instance of a class like a body of its
 * own. It is iterated in batches of lines, to be read in their order. Until the next batch is
 * requested, the client can send only as much as Node and the operating system buffer, so a body
 * may have any length.
 *
 * Pass it to {@link importLines}, which iterates it.
 *
 * @example
 * ```ts
 * function importAll(lines: BodyLines<NewPlantDto>): Promise<ImportResultDto> {
 *   return importLines(lines, (rows) => plants.createAll(rows), PlantErrors.ID_IN_USE);
 * }
 * ```
 */
export class BodyLines<Dto extends object> implements AsyncIterable<Buffer> {
  /** How much memory the results of the batches take, which counts from the next chunk on. */
  resultBytes = 0;
  private lastNumber = 0;

  /**
   * @param timeoutMs how long the client may send nothing
   * @param stop aborts when the server stops
   * @param counter counts the lines of imports
   */
  constructor(
    readonly response: Response,
    private readonly rule: JsonRule,
    private readonly timeoutMs: number,
    private readonly stop: AbortSignal,
    readonly counter: Counter<'outcome'>,
  ) {}

  /**
   * @throws ApiError 41500; 40800 when the client is too slow; 50300 when the server stops, or the
   *   bodies of all clients are too much to hold
   * @throws RequestAbortedError
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const { response, rule, stop } = this;
    checkMediaType(response.req, rule);
    continueIfExpected(response);
    /** The start of an incomplete line; of a line that is too long, only as much as shows that. */
    const rest = new GrowingBuffer(rule.limit + 2);
    const chunks = new BodyChunks(response.req, this.timeoutMs);
    const hold = (bytes: number): void =>
      chunks.countMemory(READ_AHEAD + this.resultBytes + rest.capacity + bytes);
    const refuse = (): void => chunks.fail(new ApiError(ErrorCatalogue.UNAVAILABLE));
    stop.addEventListener('abort', refuse);
    if (stop.aborted) refuse();
    hold(0);
    try {
      for await (const chunk of chunks) {
        const end = chunk.lastIndexOf(LINE_FEED);
        if (end !== -1) {
          const lines = Buffer.concat([rest.bytes, chunk.subarray(0, end)]);
          hold(chunk.length + lines.length);
          yield* splitLines(lines, BATCH_LINES);
          rest.clear();
        }
        rest.add(chunk.subarray(end + 1));
        hold(0);
      }
      if (rest.length > 0) yield rest.bytes;
    } finally {
      stop.removeEventListener('abort', refuse);
    }
  }

  /** Reads the lines of the next batch. Returns a promise if there are asynchronous rules. */
  read(batch: Buffer): ReadLines<Dto> | Promise<ReadLines<Dto>> {
    const numbers: number[] = [];
    const results: (LineResult<Dto> | Promise<LineResult<Dto>>)[] = [];
    // Decoding and checking many lines at once takes a third of the time.
    for (const line of isUtf8(batch) ? batch.toString().split('\n') : splitLines(batch, 1)) {
      this.lastNumber++;
      const result = this.readLine(line);
      if (result === undefined) continue;
      numbers.push(this.lastNumber);
      results.push(result);
    }
    if (!results.some((result) => result instanceof Promise)) {
      return separate(results as LineResult<Dto>[], numbers);
    }
    const settled = results.map((result) => Promise.resolve(result));
    return Promise.all(settled).then((awaited) => separate(awaited, numbers));
  }

  /**
   * @param line the bytes of the line if the batch is not UTF-8
   * @returns an instance, or the refusal of the line; undefined for a blank line
   */
  private readLine(line: string | Buffer): LineResult<Dto> | Promise<LineResult<Dto>> | undefined {
    const { limit } = this.rule;
    if (line.length > limit / 3 && countBytes(line) > limit) {
      const refusal = new InputRefusal(
        ErrorCatalogue.BODY_TOO_LARGE,
        `The line is longer than ${limit} bytes`,
      );
      return adviseIfJoined(refusal, line);
    }
    if (typeof line !== 'string' && !isUtf8(line)) {
      return new InputRefusal(ErrorCatalogue.UNREADABLE_BODY, 'The line is not UTF-8');
    }
    const text = line.toString();
    if (BLANK.test(text)) return undefined;
    const result = parseObject(text, this.rule, 'line') as
      LineResult<Dto> | Promise<LineResult<Dto>>;
    const isUnreadable =
      result instanceof InputRefusal && result.error === ErrorCatalogue.UNREADABLE_BODY.error;
    return isUnreadable ? adviseIfJoined(result, text) : result;
  }
}

/** Adds advice to the refusal of a line that seems to be several lines. */
function adviseIfJoined(refusal: InputRefusal, line: string | Buffer): InputRefusal {
  if (!line.includes(JOINED)) return refusal;
  return new InputRefusal(refusal, `${refusal.message}. ${JOINED_ADVICE}`);
}

/** Separates the lines that are refused from the others. */
function separate<Dto>(
  results: readonly LineResult<Dto>[],
  resultNumbers: readonly number[],
): ReadLines<Dto> {
  const values: Dto[] = [];
  const numbers: number[] = [];
  const failures = new Map<number, InputRefusal>();
  for (const [index, result] of results.entries()) {
    const number = resultNumbers[index] ?? 0;
    if (result instanceof InputRefusal) failures.set(number, result);
    else {
      values.push(result);
      numbers.push(number);
    }
  }
  return { values, numbers, failures };
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
