import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue, type ErrorEntry } from '../errors/error-catalogue.js';
import { getClient } from '../limits/client.js';
import { clientMemory, type Holding } from '../limits/fair-share.js';

/** How much memory is first allocated for a body, in bytes. */
const FIRST_CAPACITY = 2_048;
/** About how much memory the name or the value of a header takes besides its characters, in bytes. */
const HEADER_OVERHEAD = 64;

/** The client disconnected before its request was complete, so there is no answer. */
export class RequestAbortedError extends Error {}

/** Estimates the memory of the URL and the headers of a request, which is held while it waits. */
export function countHead({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length + HEADER_OVERHEAD, url.length);
}

/**
 * The chunks of a body as they arrive, to be iterated once. The memory that is held meanwhile counts
 * as memory of the client. Node's own iterator would close the connection after an error.
 */
export class BodyChunks implements AsyncIterable<Buffer> {
  private readonly head: number;
  private readonly holding: Holding;
  private error: ApiError | undefined;
  private wake = (): void => undefined;

  /**
   * @param timeoutMs how long the client may send nothing while the next chunk is awaited
   * @param end when the whole body must have arrived, by `performance.now()`
   */
  constructor(
    private readonly request: IncomingMessage,
    private readonly timeoutMs: number,
    private readonly end = Infinity,
  ) {
    this.head = countHead(request);
    const drop = (): void => this.fail(ErrorCatalogue.UNAVAILABLE);
    this.holding = clientMemory.hold(getClient(request), drop);
  }

  /** Sets how much memory is held, besides that of the headers. */
  hold(bytes: number): void {
    this.holding.update(this.head + bytes);
  }

  /** Ends the iteration with an error. */
  fail(error: ErrorEntry): void {
    this.error = new ApiError(error);
    this.wake();
  }

  /**
   * @throws ApiError 40800; 50300 when the bodies of all clients are too much to hold
   * @throws RequestAbortedError
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const { request } = this;
    const wake = (): void => this.wake();
    request.on('readable', wake).on('close', wake);
    try {
      while (!request.readableEnded) {
        if (request.destroyed) throw new RequestAbortedError();
        if (this.error !== undefined) throw this.error;
        const chunk = request.read() as Buffer | null;
        if (chunk !== null) yield chunk;
        else if (request.complete) return;
        else await this.waitForInput();
      }
    } finally {
      request.off('readable', wake).off('close', wake);
      this.holding.end();
    }
  }

  private async waitForInput(): Promise<void> {
    const fail = (): void => this.fail(ErrorCatalogue.REQUEST_TIMEOUT);
    const timer = setTimeout(fail, Math.min(this.timeoutMs, this.end - performance.now()));
    await new Promise<void>((resolve) => (this.wake = resolve));
    clearTimeout(timer);
  }
}

/**
 * Copies chunks into one buffer. A chunk itself, however small, keeps everything in memory that was
 * read together with it.
 */
export class GrowingBuffer {
  private memory = Buffer.allocUnsafeSlow(FIRST_CAPACITY);
  /** How many bytes it holds. */
  length = 0;

  /** @param limit how many bytes are kept; further ones are dropped */
  constructor(private readonly limit: number) {}

  /** The size of its memory, in bytes. */
  get capacity(): number {
    return this.memory.length;
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
