import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { type ClientRequest, getClient } from '../limits/client.js';
import { RequestAbortedError } from '../errors/request-aborted.error.js';
import type { Holding } from '../limits/fair-share.js';
import { countHead } from '../limits/request-memory.js';

/** How much memory is first allocated for a body, in bytes. */
const FIRST_CAPACITY = 2_048;

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
    private readonly request: IncomingMessage & ClientRequest,
    private readonly timeoutMs: number,
    private readonly end = Infinity,
  ) {
    this.head = countHead(request);
    const drop = (): void => this.fail(new ApiError(ErrorCatalogue.UNAVAILABLE));
    this.holding = request.state.limits.memory.hold(getClient(request), drop);
  }

  /** Sets how much memory is held, besides that of the headers. */
  countMemory(bytes: number): void {
    this.holding.update(this.head + bytes);
  }

  /** Ends the iteration with an error. */
  fail(error: ApiError): void {
    this.error = error;
    this.wake();
  }

  /**
   * @throws ApiError 40000 for chunks that are malformed, or a body that is cut off; 40800; 50300
   *   when the program stops, or the bodies of all clients are too much to hold
   * @throws RequestAbortedError
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const { request } = this;
    const { state } = request;
    const wake = (): void => this.wake();
    this.error ??= state.bodyError;
    state.failBody = (error) => this.fail(error);
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
      state.failBody = undefined;
      this.holding.end();
    }
  }

  private async waitForInput(): Promise<void> {
    const fail = (): void => this.fail(new ApiError(ErrorCatalogue.REQUEST_TIMEOUT));
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
