import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Socket } from 'node:net';
import { countSentBytes } from './node-internals.js';
import type { PipelinedRequests } from './pipelined-requests.js';

/**
 * While the server stops: how long a client may send nothing of a request or read nothing of an
 * answer, in milliseconds.
 */
export const DRAIN_CLIENT_MS = 2_000;
/** How many turns of the event loop it takes to read everything that the system has received. */
const READ_TURNS = 3;

/**
 * Waits until everything that the system has received is read, and the next waiting connections are
 * accepted.
 */
export async function readReceived(): Promise<void> {
  for (let turn = 0; turn < READ_TURNS; turn++) await nextTurn();
}

/** Closes a connection while the server stops, after the answers to all requests that were sent. */
export class ConnectionDrain {
  /**
   * As a time of `performance.now()`. The server waits for no client while it accepts connections.
   */
  private waitingForClientSince = Infinity;

  private sentBytes = 0;

  constructor(
    private readonly socket: Socket,
    private readonly requests: PipelinedRequests,
  ) {}

  /**
   * @param acceptingEnded resolves when the server accepts no more connections. Before that, no
   *   answer announces the end of this connection: its client would open another, which might be
   *   lost.
   */
  async start(acceptingEnded: Promise<void>): Promise<void> {
    this.requests.startDraining(async () => {
      await acceptingEnded;
      this.waitingForClientSince = performance.now();
      // Which request is the last is known once all have been read.
      await readReceived();
    });
    await acceptingEnded;
    this.waitingForClientSince = performance.now();
    this.requests.closeAfterCurrent();
  }

  /**
   * Closes the connection if its client has kept the server waiting for too long.
   *
   * @param graceMs how long an idle connection is kept
   */
  check(graceMs: number): void {
    const { requests } = this;
    const now = performance.now();
    const limit = requests.isIdle ? graceMs : DRAIN_CLIENT_MS;
    const sentBytes = countSentBytes(this.socket);
    const isReading = sentBytes > this.sentBytes;
    this.sentBytes = sentBytes;
    if (requests.isAnswerDue || isReading) this.waitingForClientSince = now;
    else if (now - this.waitingForClientSince > limit) requests.destroy();
  }
}
