import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How many requests may wait for the one before them, on all connections together. */
export const WAITING_LIMIT = 20_000;
/** How often a connection to which nothing can be written is checked, in milliseconds. */
const STALL_CHECK_MS = 1_000;
/** Turns of the event loop that it takes to read what the system has received on a connection. */
export const READ_TURNS = 3;

/** Answers a request. */
export type Handler = (req: IncomingMessage, res: ServerResponse) => void;

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly handler: Handler;
}

/** The connections on which requests wait, and how many wait on all of them. */
const pipelined = new Set<Connection>();
let waitingOnAll = 0;

/**
 * A connection, whose requests are handled one at a time, in the order in which they came: only
 * those with safe methods may be handled in parallel (RFC 9112 section 9.3.2). While a request waits,
 * the socket is not read, so that the server holds no more than one chunk of pipelined requests.
 */
export class Connection {
  private current: ServerResponse | undefined;
  private readonly waiting: Exchange[] = [];
  /** Whether the last request has come: any that follow are ignored (RFC 9112 section 9.6). */
  private isEnding = false;
  /** Writes the last answer, to input that is not a request. */
  private refusal: (() => void) | undefined;
  private isReadingPaused = false;
  /** Resolves when the server accepts no more connections; undefined until it stops. */
  private acceptingEnded: Promise<void> | undefined;
  // Times are those of `performance.now()`.
  private stalledSince = 0;
  private lastStall = 0;
  private waitingForClientSince = 0;

  /** @param isTooMany whether it exceeds the limit of connections, so that its requests are refused */
  constructor(
    private readonly socket: Socket,
    readonly isTooMany: boolean,
  ) {
    // Node resumes the socket at the end of each request, and whenever a body is read.
    socket.on('resume', () => {
      if (!this.isReadingPaused) return;
      // A socket that was resumed and paused in one turn is read though it is paused.
      if (socket.isPaused()) socket.resume();
      else socket.pause();
    });
    socket.once('close', () => this.forgetWaiting());
  }

  /** Handles a request once those before it have been answered. */
  handle(req: IncomingMessage, res: ServerResponse, handler: Handler): void {
    if (this.isEnding) {
      this.pauseReading();
      return;
    }
    // Node drops what follows such a request in the same chunk. If that is the head of another
    // request, its body would be parsed as a request.
    if (req.headers.upgrade !== undefined) this.isEnding = true;
    if (this.isIdle) this.begin(req, res, handler);
    // Its context, such as its trace, is its own, and not that of the request before it.
    else this.wait({ req, res, handler: AsyncResource.bind(handler) });
  }

  /**
   * Refuses input that is not a request, once the requests before it have been answered. Nothing
   * that follows is handled.
   *
   * @param answer writes the answer and closes the connection
   */
  refuse(answer: () => void): void {
    // The parser fails again at each further chunk.
    if (this.refusal !== undefined) return;
    this.isEnding = true;
    this.refusal = answer;
    // Where the body of a request is malformed or late, this is the answer to that request.
    if (this.waiting.at(-1)?.req.complete === false) this.taken(this.waiting.pop());
    if (this.current?.req.complete !== true) this.answerRefusal(answer);
  }

  /** Starts to check the connection if its client does not read; to be called once a second. */
  checkWriting(): void {
    if (this.socket.writableLength > 0 && this.socket.timeout !== STALL_CHECK_MS) {
      this.socket.setTimeout(STALL_CHECK_MS);
    }
  }

  /**
   * Closes a connection that is idle or whose client does not read, after its socket timed out.
   *
   * @param sendTimeout how long a client may read nothing of its answer, in milliseconds
   */
  onTimeout(sendTimeout: number): void {
    if (this.socket.writableLength === 0) {
      if (this.isIdle) this.socket.destroy();
      return;
    }
    const now = performance.now();
    // The socket does not time out while it makes progress in writing.
    if (now - this.lastStall > 1.5 * STALL_CHECK_MS) this.stalledSince = now - STALL_CHECK_MS;
    this.lastStall = now;
    if (now - this.stalledSince >= sendTimeout) this.socket.destroy();
    else this.socket.setTimeout(STALL_CHECK_MS);
  }

  /**
   * Goes on handling requests, and closes the connection after the answer to the last of them.
   *
   * @param acceptingEnded resolves when the server accepts no more connections. No answer says
   *   before that this connection closes: its client would open another, which might be lost.
   */
  async stop(acceptingEnded: Promise<void>): Promise<void> {
    this.acceptingEnded = acceptingEnded;
    await acceptingEnded;
    this.waitingForClientSince = performance.now();
    this.sendConnectionClose();
  }

  /** Whether no request is under way. */
  get isIdle(): boolean {
    return this.current === undefined;
  }

  /** Closes a stopping connection that has waited so many milliseconds for its client to send or read. */
  closeAfter(limit: number): void {
    const now = performance.now();
    const isAnswerDue = this.current?.req.complete === true && !this.current.headersSent;
    if (isAnswerDue) this.waitingForClientSince = now;
    else if (now - this.waitingForClientSince > limit) this.destroy();
  }

  destroy(): void {
    this.isEnding = true;
    this.forgetWaiting();
    this.socket.destroy();
  }

  private begin(req: IncomingMessage, res: ServerResponse, handler: Handler): void {
    this.current = res;
    res.on('close', this.onAnswered);
    if (this.acceptingEnded !== undefined) {
      void this.beginWhileStopping(req, res, handler);
    } else {
      if (this.isEnding) this.sendConnectionClose();
      handler(req, res);
    }
  }

  /** Reads first what the client has sent already, so that the last of its requests is known. */
  private async beginWhileStopping(
    req: IncomingMessage,
    res: ServerResponse,
    handler: Handler,
  ): Promise<void> {
    await this.acceptingEnded;
    this.waitingForClientSince = performance.now();
    for (let turn = 0; turn < READ_TURNS; turn++) await nextTurn();
    if (this.current !== res) return;
    this.sendConnectionClose();
    handler(req, res);
  }

  /** Makes the answer under way the last of the connection, unless others are to follow. */
  private sendConnectionClose(): void {
    const { current, waiting, refusal } = this;
    if (current === undefined || current.headersSent) return;
    if (waiting.length > 0 || refusal !== undefined) return;
    this.isEnding = true;
    current.setHeader('Connection', 'close');
  }

  private readonly onAnswered = (): void => {
    this.current = undefined;
    // Nothing is handled after an answer with which the connection ended.
    if (!this.socket.writable) this.forgetWaiting();
    const next = this.taken(this.waiting.shift());
    if (next !== undefined) this.begin(next.req, next.res, next.handler);
    else if (this.refusal !== undefined) this.answerRefusal(this.refusal);
  };

  private answerRefusal(answer: () => void): void {
    if (!this.socket.writable || this.current?.headersSent === true) this.socket.destroy();
    else answer();
  }

  private wait(exchange: Exchange): void {
    this.waiting.push(exchange);
    pipelined.add(this);
    this.pauseReading();
    if (++waitingOnAll > WAITING_LIMIT) Connection.closeLongest();
  }

  /** Keeps count of a request that was taken from those that wait. */
  private taken(exchange: Exchange | undefined): Exchange | undefined {
    if (exchange === undefined) return undefined;
    waitingOnAll--;
    if (this.waiting.length === 0) {
      pipelined.delete(this);
      this.resumeReading();
    }
    return exchange;
  }

  private forgetWaiting(): void {
    waitingOnAll -= this.waiting.length;
    this.waiting.length = 0;
    pipelined.delete(this);
  }

  private pauseReading(): void {
    this.isReadingPaused = true;
    this.socket.pause();
  }

  private resumeReading(): void {
    this.isReadingPaused = false;
    this.socket.resume();
  }

  /** Closes the connection on which most requests wait: the most likely to be abuse. */
  private static closeLongest(): void {
    let [longest] = pipelined;
    for (const one of pipelined) {
      if (one.waiting.length > (longest?.waiting.length ?? 0)) longest = one;
    }
    longest?.destroy();
  }
}
