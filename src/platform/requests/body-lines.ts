import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import type { CompiledDto } from '../validation/compiled-dto.js';
import {
  BODY_LIMIT,
  checkMediaType,
  continueIfExpected,
  RequestAbortedError,
} from './body-reader.js';
import { parseBody } from './json-body.js';

/** JSON with one value per line. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** How fast a client has to send on the average, in bytes per millisecond that it is waited for. */
const MIN_RATE = 1;
/** How many bytes the lines of one part have at most, besides the last of them. */
const PART_BYTES = 32 * 1024;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Only spaces and tabs, which are skipped. */
const BLANK = /^[ \t]*$/;

/** A line that is not blank. */
export interface Line<Dto> {
  /** From 1. */
  readonly number: number;
  /** What it holds, or what is wrong with it. */
  readonly value: Dto | ApiError;
}

/** The connections on which a body is read that has time limits of its own. */
const withOwnLimits = new WeakSet<Socket>();

/** Whether the time limit for whole requests does not hold for what arrives on a connection. */
export function hasOwnTimeLimits(socket: Socket): boolean {
  return withOwnLimits.has(socket);
}

/**
 * The body of a request as lines of JSON, each read as an instance of a class like the body of a
 * request of its own. The lines come in parts. A part is read when it is asked for, and meanwhile the
 * client cannot send more than the system holds, so that a body may be of any length.
 */
export class BodyLines<Dto extends object> implements AsyncIterable<readonly Line<Dto>[]> {
  private lastNumber = 0;

  /**
   * @param timeoutMs how long the client may send nothing, and how long it may send slowly
   * @param stop is aborted when the server stops
   */
  constructor(
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
    private readonly dto: CompiledDto,
    private readonly timeoutMs: number,
    private readonly stop: AbortSignal,
  ) {}

  /**
   * @throws ApiError 41500; 40800 when the client is too slow; 50300 when the server stops
   * @throws RequestAbortedError
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<readonly Line<Dto>[], void, undefined> {
    /** The start of a line whose end has not come. */
    let rest: Buffer[] = [];
    let restLength = 0;
    for await (const chunk of this.readChunks()) {
      let part: Line<Dto>[] = [];
      let partStart = 0;
      let start = 0;
      for (let end; (end = chunk.indexOf(LINE_FEED, start)) !== -1; start = end + 1) {
        const line = chunk.subarray(start, end);
        this.addLine(part, restLength === 0 ? line : Buffer.concat([...rest, line]));
        rest = [];
        restLength = 0;
        if (end - partStart >= PART_BYTES) {
          yield part;
          part = [];
          partStart = end;
        }
      }
      if (part.length > 0) yield part;
      // Of a line that is too long, no more is kept than shows it.
      if (start < chunk.length && restLength <= BODY_LIMIT + 1) {
        rest.push(chunk.subarray(start));
        restLength += chunk.length - start;
      }
    }
    const part: Line<Dto>[] = [];
    if (restLength > 0) this.addLine(part, Buffer.concat(rest));
    if (part.length > 0) yield part;
  }

  private addLine(part: Line<Dto>[], line: Buffer): void {
    const number = ++this.lastNumber;
    const length = line.length - (line.at(-1) === CARRIAGE_RETURN ? 1 : 0);
    if (length === 0) return;
    const value = this.readLine(length > BODY_LIMIT ? undefined : line.subarray(0, length));
    if (value !== undefined) part.push({ number, value });
  }

  /** @returns undefined for a blank line */
  private readLine(bytes: Buffer | undefined): Dto | ApiError | undefined {
    if (bytes === undefined) return new ApiError(ErrorCatalogue.BODY_TOO_LARGE);
    if (!isUtf8(bytes)) {
      return new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The body is not UTF-8');
    }
    const text = bytes.toString();
    if (BLANK.test(text)) return undefined;
    try {
      return parseBody(text, this.dto) as Dto;
    } catch (error) {
      if (error instanceof ApiError) return error;
      throw error;
    }
  }

  private async *readChunks(): AsyncGenerator<Buffer, void, undefined> {
    const { request, response } = this;
    checkMediaType(request, [NDJSON_TYPE]);
    continueIfExpected(request, response);
    const { socket } = request;
    withOwnLimits.add(socket);
    let received = 0;
    let waitedMs = 0;
    try {
      while (!request.readableEnded) {
        if (request.destroyed) throw new RequestAbortedError();
        if (this.stop.aborted) throw new ApiError(ErrorCatalogue.UNAVAILABLE);
        const chunk = request.read() as Buffer | null;
        if (chunk !== null) {
          received += chunk.length;
          yield chunk;
          continue;
        }
        // Only what the client makes us wait is held against it.
        const began = performance.now();
        const credit = this.timeoutMs + received / MIN_RATE - waitedMs;
        await this.waitForInput(Math.min(this.timeoutMs, credit));
        waitedMs += performance.now() - began;
      }
    } finally {
      withOwnLimits.delete(socket);
    }
  }

  /**
   * Resolves when there is something to read, or nothing more will come, or the server stops.
   *
   * @throws ApiError 40800
   */
  private async waitForInput(timeoutMs: number): Promise<void> {
    const { request, stop } = this;
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
        stop.removeEventListener('abort', onInput);
        request.off('readable', onInput).off('end', onInput).off('close', onInput);
      };
      stop.addEventListener('abort', onInput);
      request.on('readable', onInput).on('end', onInput).on('close', onInput);
    });
  }
}
