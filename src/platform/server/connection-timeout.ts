import type { Socket } from 'node:net';
import type { PipelinedRequests } from './pipelined-requests.js';

/** How often a connection whose client does not read is checked, in milliseconds. */
const STALL_CHECK_MS = 1_000;

/** A period in which the client has read nothing, as times of `performance.now()`. */
interface Stall {
  readonly since: number;
  readonly seenAt: number;
}

/** Closes a connection that is idle for too long, or whose client does not read its answers. */
export class ConnectionTimeout {
  private stall: Stall | undefined;

  /** @param sendTimeoutMs how long a client may read nothing of its answer, in milliseconds */
  constructor(
    private readonly socket: Socket,
    private readonly requests: PipelinedRequests,
    private readonly sendTimeoutMs: number,
  ) {}

  /** Starts to check a connection that has something to write. Must be called once per second. */
  watchWriting(): void {
    if (this.socket.writableLength > 0 && this.socket.timeout !== STALL_CHECK_MS) {
      this.socket.setTimeout(STALL_CHECK_MS);
    }
  }

  /** Handles the `timeout` event, which a socket does not emit while it makes progress in writing. */
  onTimeout(): void {
    const { socket, requests, stall } = this;
    if (socket.writableLength === 0) {
      if (requests.isIdle) socket.destroy();
      return;
    }
    const now = performance.now();
    const isSame = stall !== undefined && now - stall.seenAt <= 1.5 * STALL_CHECK_MS;
    const since = isSame ? stall.since : now - STALL_CHECK_MS;
    this.stall = { since, seenAt: now };
    if (now - since >= this.sendTimeoutMs) requests.destroy();
    else socket.setTimeout(STALL_CHECK_MS);
  }
}
