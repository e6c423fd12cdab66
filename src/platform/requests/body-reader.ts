import { parse as parseContentType } from 'content-type';
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { getClient } from '../limits/client.js';
import { FairShare } from '../limits/fair-share.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';

/** The longest body that is read, in bytes. */
export const BODY_LIMIT = 102_400;
/** How much memory the bodies of all clients may take until they are handled, in bytes. */
export const WAITING_BODIES_LIMIT = 64 * 1024 * 1024;
/** How much memory is first allocated for a body, in bytes. */
const FIRST_CAPACITY = 2_048;
/** About how much memory the name or the value of a header takes besides its characters, in bytes. */
const HEADER_OVERHEAD = 64;

/** The client disconnected before its request was complete, so there is no answer. */
export class RequestAbortedError extends Error {}

/**
 * Reads the body of a request as JSON text. Before this call, nothing has been read, and a client
 * that sent `Expect: 100-continue` has received no 100 (Continue).
 *
 * @param mediaTypes the media types that the operation accepts
 * @param timeoutMs how long it may take until the body has arrived
 * @throws ApiError 40001, 41300, 41500, in the documented order; 40800 when it arrives too late;
 *   50300 when too many bodies arrive at a time
 * @throws RequestAbortedError
 */
export async function readJsonText(
  req: IncomingMessage,
  res: ServerResponse,
  mediaTypes: readonly string[],
  timeoutMs: number,
): Promise<string> {
  const declared = req.headers['content-length'];
  if (declared !== undefined) {
    checkBody(req, Number(declared), mediaTypes);
  } else if (req.headers['transfer-encoding'] === undefined) {
    throw emptyBody();
  }
  continueIfExpected(req, res);

  const bytes = readArrived(req, Number(declared)) ?? (await readBytes(req, timeoutMs));
  // The length of a chunked body is known only at its end.
  if (declared === undefined) checkBody(req, bytes.length, mediaTypes);
  if (!isUtf8(bytes)) {
    throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The body is not UTF-8');
  }
  return bytes.toString();
}

/** Sends 100 (Continue) to a client that waits for it. */
export function continueIfExpected(req: IncomingMessage, res: ServerResponse): void {
  // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
  if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue();
}

function checkBody(req: IncomingMessage, length: number, mediaTypes: readonly string[]): void {
  if (length === 0) throw emptyBody();
  checkMediaType(req, mediaTypes);
  if (length > BODY_LIMIT) throw new ApiError(ErrorCatalogue.BODY_TOO_LARGE);
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

/**
 * Requests whose bodies are partly received, or that wait for their turn, by the bytes of their
 * bodies and headers.
 */
export const waitingBodies = new FairShare(WAITING_BODIES_LIMIT);

/** Estimates the memory of the URL and the headers of a request, which is held while it waits. */
export function countHead({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length + HEADER_OVERHEAD, url.length);
}

/**
 * Copies chunks into one buffer. A chunk itself, however small, keeps everything in memory that was
 * read together with it.
 */
export class GrowingBuffer {
  private memory = new ArrayBuffer(FIRST_CAPACITY);
  private length = 0;

  /** @param limit how many bytes are kept; further ones are dropped */
  constructor(private readonly limit: number) {}

  /** The size of its memory, in bytes. */
  get capacity(): number {
    return this.memory.byteLength;
  }

  get isEmpty(): boolean {
    return this.length === 0;
  }

  get isFull(): boolean {
    return this.length === this.limit;
  }

  /** The bytes that were added. Their memory is reused after {@link clear}. */
  get bytes(): Buffer {
    return Buffer.from(this.memory, 0, this.length);
  }

  add(chunk: Buffer): void {
    const wanted = Math.min(this.length + chunk.length, this.limit);
    if (wanted > this.capacity)
      this.grow(Math.min(Math.max(wanted, 2 * this.capacity), this.limit));
    new Uint8Array(this.memory).set(chunk.subarray(0, wanted - this.length), this.length);
    this.length = wanted;
  }

  clear(): void {
    this.length = 0;
  }

  private grow(capacity: number): void {
    if (this.memory.resizable) {
      this.memory.resize(capacity);
      return;
    }
    // The memory of a resizable buffer goes back to the system, and that of others to the heap of
    // the process, which keeps it.
    const resizable = new ArrayBuffer(capacity, { maxByteLength: this.limit });
    new Uint8Array(resizable).set(new Uint8Array(this.memory));
    this.memory = resizable;
  }
}

/** Resolves with the whole body, or with the start of one that exceeds the limit. */
function readBytes(req: IncomingMessage, timeoutMs: number): Promise<Buffer> {
  if (req.readableEnded || req.destroyed) throw new RequestAbortedError();
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(BODY_LIMIT + 1);
    const head = countHead(req);
    const settle = (): void => {
      clearTimeout(timer);
      holding.end();
      req.off('data', onData).off('end', onEnd).off('close', onClose);
      req.pause();
    };
    const onData = (chunk: Buffer): void => {
      body.add(chunk);
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
    const holding = waitingBodies.hold(getClient(req), () => refuse(ErrorCatalogue.UNAVAILABLE));
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
  mediaTypes: readonly string[],
): void {
  const wrong = findWrongMediaType(headers, mediaTypes);
  if (wrong === undefined) return;
  const wanted = `${mediaTypes.join(' or ')} in UTF-8, without a Content-Encoding`;
  throw new ApiError(
    ErrorCatalogue.UNSUPPORTED_MEDIA_TYPE,
    `The body has ${wrong}: send ${wanted}`,
    method === 'PATCH' ? { 'Accept-Patch': mediaTypes.join(', ') } : {},
  );
}

function findWrongMediaType(
  { 'content-type': contentType, 'content-encoding': contentEncoding }: IncomingHttpHeaders,
  mediaTypes: readonly string[],
): string | undefined {
  if (contentType === undefined) return 'no Content-Type';
  const { type, parameters } = parseContentType(contentType);
  if (!mediaTypes.includes(type)) return `the Content-Type ${quote(contentType)}`;
  const { charset = 'utf-8' } = parameters;
  if (!/^utf-?8$/i.test(charset)) return `the charset ${quote(charset)}`;
  const isIdentity = (contentEncoding ?? 'identity').trim().toLowerCase() === 'identity';
  return isIdentity ? undefined : `the Content-Encoding ${quote(contentEncoding ?? '')}`;
}

/** Quotes at most 64 characters of a received text for a message. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
