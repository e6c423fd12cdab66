import { parse as parseContentType } from 'content-type';
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { getClient } from '../limits/client.js';
import { clientMemory } from '../limits/fair-share.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';
import { type Json, JsonSyntaxError, parseJson } from '../json/json.js';
import { type CompiledDto, joinFaults } from '../validation/compiled-dto.js';

/** The longest body that is read, in bytes. */
export const BODY_LIMIT = 102_400;
/** How much memory is first allocated for a body, in bytes. */
const FIRST_CAPACITY = 2_048;
/** About how much memory the name or the value of a header takes besides its characters, in bytes. */
const HEADER_OVERHEAD = 64;

/** The client disconnected before its request was complete, so there is no answer. */
export class RequestAbortedError extends Error {}

/** The key of the {@link BodyRule} of a handler that takes its body as bytes. */
export const RAW_BODY = Symbol('raw body');

/** The bodies that an operation takes. */
export interface BodyRule {
  readonly mediaTypes: readonly string[];
  /** How many bytes a body may have. */
  readonly limit: number;
  /** Whether a body is text, which must be UTF-8. */
  readonly isText: boolean;
}

/**
 * Reads the body of a request. Before this call, nothing has been read, and a client that sent
 * `Expect: 100-continue` has received no 100 (Continue).
 *
 * @param timeoutMs how long it may take until the body has arrived; of a body that is no text, how
 *   long the client may send nothing
 * @throws ApiError 40001, 41300, 41500, in the documented order; 40800 when it arrives too late;
 *   50300 when too many bodies arrive at a time
 * @throws RequestAbortedError
 */
export async function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  rule: BodyRule,
  timeoutMs: number,
): Promise<Buffer> {
  const declared = req.headers['content-length'];
  if (declared !== undefined) {
    checkBody(req, Number(declared), rule);
  } else if (req.headers['transfer-encoding'] === undefined) {
    throw emptyBody();
  }
  continueIfExpected(req, res);

  const bytes = readArrived(req, Number(declared)) ?? (await readBytes(req, rule, timeoutMs));
  // The length of a chunked body is known only at its end.
  if (declared === undefined) checkBody(req, bytes.length, rule);
  if (rule.isText && !isUtf8(bytes)) {
    throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The body is not UTF-8');
  }
  return bytes;
}

/** Sends 100 (Continue) to a client that waits for it. */
export function continueIfExpected(req: IncomingMessage, res: ServerResponse): void {
  // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
  if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue();
}

function checkBody(req: IncomingMessage, length: number, rule: BodyRule): void {
  if (length === 0) throw emptyBody();
  checkMediaType(req, rule);
  if (length <= rule.limit) return;
  const message = `The body is larger than ${rule.limit} bytes`;
  throw new ApiError(ErrorCatalogue.BODY_TOO_LARGE, message);
}

function emptyBody(): ApiError {
  return new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The body is empty');
}

/** Reads the whole body if it arrived in one chunk with the headers, as most do. */
function readArrived(req: IncomingMessage, length: number): Buffer | undefined {
  if (req.readableLength !== length) return undefined;
  const bytes = req.read() as Buffer;
  req.resume();
  return bytes;
}

/** Estimates the memory of the URL and the headers of a request, which is held while it waits. */
export function countHead({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length + HEADER_OVERHEAD, url.length);
}

/**
 * Copies chunks into one buffer. A chunk itself, however small, keeps everything in memory that was
 * read together with it.
 */
export class GrowingBuffer {
  private memory = Buffer.allocUnsafeSlow(FIRST_CAPACITY);
  private length = 0;

  /** @param limit how many bytes are kept; further ones are dropped */
  constructor(private readonly limit: number) {}

  /** The size of its memory, in bytes. */
  get capacity(): number {
    return this.memory.length;
  }

  get isEmpty(): boolean {
    return this.length === 0;
  }

  get isFull(): boolean {
    return this.length === this.limit;
  }

  /** The bytes that were added. Their memory is reused after {@link clear}. */
  get bytes(): Buffer {
    return this.memory.subarray(0, this.length);
  }

  add(chunk: Buffer): void {
    const length = Math.min(this.length + chunk.length, this.limit);
    if (length > this.capacity) {
      const capacity = Math.min(Math.max(length, 2 * this.capacity), this.limit);
      const larger = Buffer.allocUnsafeSlow(capacity);
      this.memory.copy(larger, 0, 0, this.length);
      this.memory = larger;
    }
    chunk.copy(this.memory, this.length);
    this.length = length;
  }

  clear(): void {
    this.length = 0;
  }
}

/** Resolves with the whole body, or with the start of one that exceeds the limit. */
function readBytes(
  req: IncomingMessage,
  { limit, isText }: BodyRule,
  timeoutMs: number,
): Promise<Buffer> {
  if (req.readableEnded || req.destroyed) throw new RequestAbortedError();
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(limit + 1);
    const head = countHead(req);
    const settle = (): void => {
      clearTimeout(timer);
      holding.end();
      req.off('data', onData).off('end', onEnd).off('close', onClose);
      req.pause();
    };
    const onData = (chunk: Buffer): void => {
      body.add(chunk);
      // A photo may take minutes on a slow network.
      if (!isText) timer.refresh();
      holding.update(head + body.capacity);
      if (body.isFull) onEnd();
    };
    const onEnd = (): void => {
      settle();
      resolve(body.bytes);
    };
    const onClose = (): void => {
      settle();
      reject(new RequestAbortedError());
    };
    const refuse = (error: ErrorEntry): void => {
      settle();
      reject(new ApiError(error));
    };
    const timer = setTimeout(() => refuse(ErrorCatalogue.REQUEST_TIMEOUT), timeoutMs);
    const holding = clientMemory.hold(getClient(req), () => refuse(ErrorCatalogue.UNAVAILABLE));
    req.on('data', onData).on('end', onEnd).on('close', onClose);
    holding.update(head + body.capacity);
  });
}

/**
 * Checks the declared type of a body before reading it.
 *
 * @throws ApiError 41500 with the received and the accepted types; for a PATCH also with
 *   `Accept-Patch` (RFC 5789 section 3.1)
 */
export function checkMediaType(
  { method, headers }: IncomingMessage,
  { mediaTypes, isText }: Pick<BodyRule, 'mediaTypes' | 'isText'>,
): void {
  const wrong = findWrongMediaType(headers, mediaTypes, isText);
  if (wrong === undefined) return;
  const wanted = `${mediaTypes.join(' or ')}${isText ? ' in UTF-8' : ''}`;
  throw new ApiError(
    ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE,
    `The body has ${wrong}: send ${wanted}, without a Content-Encoding`,
    method === 'PATCH' ? { 'Accept-Patch': mediaTypes.join(', ') } : {},
  );
}

function findWrongMediaType(
  { 'content-type': contentType, 'content-encoding': contentEncoding }: IncomingHttpHeaders,
  mediaTypes: readonly string[],
  isText: boolean,
): string | undefined {
  if (contentType === undefined) return 'no Content-Type';
  const { type, parameters } = parseContentType(contentType);
  if (!mediaTypes.includes(type)) return `the Content-Type ${quote(contentType)}`;
  const { charset = 'utf-8' } = parameters;
  if (isText && !/^utf-?8$/i.test(charset)) return `the charset ${quote(charset)}`;
  const isIdentity = (contentEncoding ?? 'identity').trim().toLowerCase() === 'identity';
  return isIdentity ? undefined : `the Content-Encoding ${quote(contentEncoding ?? '')}`;
}

/** Quotes at most 64 characters of a received text for a message. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

const JSON_TYPES = ['application/json'];
const MERGE_PATCH_TYPES = ['application/merge-patch+json', ...JSON_TYPES];

/** Lists the media types of bodies for a DTO. */
export function listMediaTypes({ patched }: CompiledDto): string[] {
  return patched === undefined ? JSON_TYPES : MERGE_PATCH_TYPES;
}

/**
 * Parses and checks JSON text as an instance of a class, in time linear in the length of the text.
 *
 * @param noun the name of the text in messages
 * @throws ApiError 40001, 40002
 */
export function parseObject(text: string, dto: CompiledDto, noun: 'body' | 'line'): object {
  const json = parseText(text, dto, noun);
  if (!(json instanceof Map)) {
    throw new ApiError(ErrorCatalogue.INVALID_BODY, `The ${noun} must be a JSON object`);
  }
  const object = dto.read(json);
  const faults: string[] = [];
  dto.check(object, faults);
  if (faults.length === 0) return object;
  const message = `The ${noun} is not valid: ${joinFaults(faults)}`;
  throw new ApiError(ErrorCatalogue.INVALID_BODY, message);
}

function parseText(text: string, dto: CompiledDto, noun: string): Json {
  try {
    return parseJson(text, dto);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, `The ${noun} ${error.message}`);
  }
}
