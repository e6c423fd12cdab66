import { parse as parseContentType } from 'content-type';
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { getClient } from '../auth/client.js';
import { FairShare } from '../auth/fair-share.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';

/** The longest body that is read, in bytes. */
export const BODY_LIMIT = 102_400;
/** How much memory bodies may take until they are handled, of all clients together, in bytes. */
export const WAITING_BODIES_LIMIT = 64 * 1024 * 1024;
/** How much memory is taken for a body at first, in bytes. */
const FIRST_CAPACITY = 2_048;

/** The client left before its request was complete, so that there is no answer. */
export class RequestAbortedError extends Error {}

/**
 * Reads the body of a request as JSON text. Nothing has been read, and a client that sent
 * `Expect: 100-continue` has not been told to continue, before this is called.
 *
 * @param mediaTypes the media types that the operation takes
 * @throws ApiError 40001, 41300, 41500, in the order the documents give; 50300 when too much
 *   arrives at a time
 * @throws RequestAbortedError
 */
export async function readJsonText(
  req: IncomingMessage,
  res: ServerResponse,
  mediaTypes: readonly string[],
): Promise<string> {
  const declared = req.headers['content-length'];
  if (declared !== undefined) {
    checkBody(req, Number(declared), mediaTypes);
  } else if (req.headers['transfer-encoding'] === undefined) {
    throw emptyBody();
  }
  continueIfExpected(req, res);

  const bytes = readArrived(req, Number(declared)) ?? (await readBytes(req));
  // A chunked body shows its length only once it is there.
  if (declared === undefined) checkBody(req, bytes.length, mediaTypes);
  if (!isUtf8(bytes)) {
    throw new ApiError(ErrorCatalogue.UNREADABLE_BODY, 'The body is not UTF-8');
  }
  return bytes.toString();
}

/** Tells a client that waits for it to send the body. */
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

/** The whole body, if it came in one chunk with the headers, as most do. */
function readArrived(req: IncomingMessage, length: number): Buffer | undefined {
  if (req.readableLength !== length) return undefined;
  const bytes = req.read() as Buffer;
  req.resume();
  return bytes;
}

/** Bodies that have not come whole, and those whose request waits to be handled. */
export const waitingBodies = new FairShare(WAITING_BODIES_LIMIT);

/**
 * Bytes that come in chunks, copied into one buffer: a chunk, however small, keeps everything in memory
 * that was read together with it.
 */
export class GrowingBuffer {
  private buffer = Buffer.allocUnsafeSlow(FIRST_CAPACITY);
  private length = 0;

  /** @param limit how many bytes are kept: those beyond are left out */
  constructor(private readonly limit: number) {}

  /** How much memory it takes, in bytes. */
  get capacity(): number {
    return this.buffer.length;
  }

  get isEmpty(): boolean {
    return this.length === 0;
  }

  /** What was added. The memory is used again after {@link clear}. */
  get bytes(): Buffer {
    return this.buffer.subarray(0, this.length);
  }

  add(chunk: Buffer): void {
    const wanted = Math.min(this.length + chunk.length, this.limit);
    if (wanted > this.buffer.length) {
      const capacity = Math.min(Math.max(wanted, 2 * this.buffer.length), this.limit);
      const larger = Buffer.allocUnsafeSlow(capacity);
      this.buffer.copy(larger);
      this.buffer = larger;
    }
    this.length += chunk.copy(this.buffer, this.length);
  }

  clear(): void {
    this.length = 0;
  }
}

/** Resolves with the whole body, or with the start of one beyond the limit. */
function readBytes(req: IncomingMessage): Promise<Buffer> {
  if (req.readableEnded || req.destroyed) throw new RequestAbortedError();
  return new Promise((resolve, reject) => {
    const body = new GrowingBuffer(BODY_LIMIT + 1);
    const settle = (): void => {
      holding.end();
      req.off('data', onData).off('end', onEnd).off('close', onClose);
      req.pause();
    };
    const onData = (chunk: Buffer): void => {
      body.add(chunk);
      holding.update(body.capacity);
      if (body.bytes.length > BODY_LIMIT) onEnd();
    };
    const onEnd = (): void => {
      settle();
      resolve(body.bytes);
    };
    const onClose = (): void => {
      settle();
      reject(new RequestAbortedError());
    };
    const holding = waitingBodies.hold(getClient(req), () => {
      settle();
      reject(new ApiError(ErrorCatalogue.UNAVAILABLE));
    });
    req.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

/**
 * Checks what a body is declared as, before any of it is read.
 *
 * @throws ApiError 41500 names what was sent and what to send; with `Accept-Patch` (RFC 5789 section
 *   3.1) where the request is a PATCH
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

/** Quotes a part of what was sent that is fit for a message. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
