import type { Socket } from 'node:net';
import { countSentBytes } from './node-internals.js';
import type { PipelinedRequests } from './pipelined-requests.js';

/** Closes a connection whose client does not read its answers. */
export class SendTimeout {
  /** The bytes that had been sent at the last check, if some were still to be sent. */
  private sentBytes: number | undefined;
  /** When the client had last read something at a check, by `performance.now()`. */
  private readingAt = 0;

  /** @param sendTimeoutMs how long a client may read nothing of its answer, in milliseconds */
  constructor(
    private readonly socket: Socket,
    private readonly requests: PipelinedRequests,
    private readonly sendTimeoutMs: number,
  ) {}

  /**
   * Checks whether the client reads. Must be called once per second. The `timeout` event of the
   * socket is no measure, since every byte that the client sends puts it off.
   */
  checkReading(): void {
    const { socket } = this;
    const now = performance.now();
    const sentBytes = socket.writableLength > 0 ? countSentBytes(socket) : undefined;
    if (sentBytes === undefined || sentBytes !== this.sentBytes) this.readingAt = now;
    this.sentBytes = sentBytes;
    if (now - this.readingAt >= this.sendTimeoutMs) this.requests.destroy();
  }
}
