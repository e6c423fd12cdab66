import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getClient } from '../limits/client.js';
import { FairShare, type Holding } from '../limits/fair-share.js';
import { holdReading, isReadingHeld, releaseReading } from '../requests/socket-reading.js';
import { breakOff } from './break-off.js';
import { isEndUncertain } from './http-rules.js';

/** How many requests may wait for the one before them, on all connections together. */
export const WAITING_LIMIT = 20_000;

/** How many bytes of requests that wait count as one more request. */
const COUNTED_BYTES = 4 * 1024;
/** How many bytes Node reads at once. */
const MAX_CHUNK = 64 * 1024;

/** Answers a request. */
export type Handler = (req: IncomingMessage, res: ServerResponse) => void;

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly handler: Handler;
}

/**
 * How further input is treated: requests are handled, input is ignored, or it gets one last answer.
 */
type Intake = 'open' | 'closed' | { readonly writeLastAnswer: () => void };

/** A message that has not arrived in time, perhaps since the server did not read it. */
interface LateMessage {
  /** Undefined until its headers have arrived. */
  req: IncomingMessage | undefined;
  /** Begins the time limit again. */
  readonly waitAgain: () => NodeJS.Timeout;
  timer?: NodeJS.Timeout;
}

const waitingInAll = new FairShare(WAITING_LIMIT);

/**
 * Handles the requests of one connection one at a time, in their order, since only those with safe
 * methods may be handled in parallel (RFC 9112 section 9.3.2). While a request waits, the socket is
 * not read, so that the server holds at most one chunk of requests.
 */
export class PipelinedRequests {
  private current: ServerResponse | undefined;
  private readonly waiting: Exchange[] = [];
  /** Counts the waiting requests, if there are any. */
  private holding: Holding | undefined;
  private intake: Intake = 'open';
  private late: LateMessage | undefined;
  /** How many bytes had been read when no further request waited. */
  private readBefore = 0;
  /** When the server has read on after requests have waited, by `performance.now()`. */
  private readingSince = -Infinity;
  /**
   * Resolves when everything that the client has sent is read. Undefined unless the server stops.
   */
  private readAhead: (() => Promise<void>) | undefined;

  constructor(private readonly socket: Socket) {
    socket.once('close', () => {
      this.forgetWaiting();
      clearTimeout(this.late?.timer);
    });
  }

  /** Whether no request is being handled. */
  get isIdle(): boolean {
    return this.current === undefined;
  }

  /**
   * Whether the answer to the current request has not begun, and the server waits for no further
   * part of the request.
   */
  get isAnswerDue(): boolean {
    const { current, socket } = this;
    if (current === undefined || current.headersSent) return false;
    return current.req.complete || isReadingHeld(socket);
  }

  /** Handles a request once those before it have been answered. */
  handle(req: IncomingMessage, res: ServerResponse, handler: Handler): void {
    if (this.intake !== 'open') {
      holdReading(this.socket, this);
      return;
    }
    if (this.late !== undefined) this.late.req ??= req;
    if (isEndUncertain(req)) this.intake = 'closed';
    if (this.isIdle) this.begin({ req, res, handler });
    else this.enqueue({ req, res, handler: keepContext(handler) });
  }

  /**
   * Refuses input that is not a request, once the requests before it are answered. Further input is
   * ignored (RFC 9112 section 9.6).
   *
   * @param writeLastAnswer writes the answer and closes the connection
   */
  refuse(writeLastAnswer: () => void): void {
    // The parser reports an error again for each further chunk.
    if (typeof this.intake === 'object') return;
    this.intake = { writeLastAnswer };
    // If the body of a request is malformed or late, this is the answer to that request.
    if (this.waiting.at(-1)?.req.complete === false) this.dequeued(this.waiting.pop());
    if (this.current?.req.complete !== true) this.answerLast(writeLastAnswer);
  }

  /**
   * Gives the message that is arriving its time again if those before it are being handled, or kept
   * the server from reading until recently. Must be called when its time limit has passed, which
   * Node reports only once.
   *
   * @param timeoutMs how long it may take once those before it are answered, in milliseconds
   * @param refuse is called if it has not arrived by then
   * @returns false if the client alone is late
   */
  postponeTimeout(timeoutMs: number, refuse: () => void): boolean {
    const isHandling = this.current?.req.complete === true;
    if (!isHandling && performance.now() - this.readingSince > timeoutMs) return false;
    clearTimeout(this.late?.timer);
    const last = this.waiting.at(-1)?.req ?? this.current?.req;
    const late: LateMessage = {
      req: last?.complete === false ? last : undefined,
      waitAgain: () =>
        setTimeout(() => {
          this.late = undefined;
          if (late.req?.complete !== true) refuse();
        }, timeoutMs).unref(),
    };
    this.late = late;
    if (!isHandling) late.timer = late.waitAgain();
    return true;
  }

  /** Reads ahead before each request from now on, and closes the connection after the last one. */
  startDraining(readAhead: () => Promise<void>): void {
    this.readAhead = readAhead;
  }

  /** Announces the end of the connection in the current answer, unless further answers are due. */
  closeAfterCurrent(): void {
    const { current, waiting, intake } = this;
    if (current === undefined || current.headersSent) return;
    if (waiting.length > 0 || typeof intake === 'object') return;
    this.intake = 'closed';
    current.setHeader('Connection', 'close');
  }

  /**
   * Refuses the current request unless its answer has begun, and closes the connection.
   */
  refuseCurrent(refuse: Handler): void {
    const { current } = this;
    if (current === undefined || current.headersSent) {
      this.destroy();
    } else {
      this.intake = 'closed';
      this.forgetWaiting();
      refuse(current.req, current);
    }
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.intake = 'closed';
    this.forgetWaiting();
    if (this.current !== undefined) breakOff(this.current);
    this.socket.destroy();
  }

  private begin(exchange: Exchange): void {
    const { res } = exchange;
    this.current = res;
    res.on('close', this.onAnswered);
    if (this.readAhead === undefined) {
      this.start(exchange);
    } else {
      void this.readAhead().then(() => {
        if (this.current === res) this.start(exchange);
      });
    }
  }

  private start({ req, res, handler }: Exchange): void {
    if (this.intake !== 'open' || this.readAhead !== undefined) this.closeAfterCurrent();
    handler(req, res);
  }

  private readonly onAnswered = (): void => {
    this.current = undefined;
    // Nothing is handled after an answer that ended the connection.
    if (!this.socket.writable) this.forgetWaiting();
    const next = this.dequeued(this.waiting.shift());
    if (this.waiting.length === 0) {
      this.readBefore = this.socket.bytesRead;
      if (next !== undefined) this.readingSince = performance.now();
      if (this.late !== undefined) this.late.timer ??= this.late.waitAgain();
    }
    if (next !== undefined) this.begin(next);
    else if (typeof this.intake === 'object') this.answerLast(this.intake.writeLastAnswer);
  };

  private answerLast(writeLastAnswer: () => void): void {
    if (!this.socket.writable || this.current?.headersSent === true) this.destroy();
    else writeLastAnswer();
  }

  private enqueue(exchange: Exchange): void {
    this.waiting.push(exchange);
    holdReading(this.socket, this);
    this.holding ??= waitingInAll.hold(getClient({ socket: this.socket }), () => this.destroy());
    this.countWaiting();
  }

  /** Updates the count after a request was taken from `waiting`. */
  private dequeued(exchange: Exchange | undefined): Exchange | undefined {
    if (exchange === undefined) return undefined;
    if (this.waiting.length > 0) {
      this.countWaiting();
    } else {
      this.forgetWaiting();
      releaseReading(this.socket, this);
    }
    return exchange;
  }

  private countWaiting(): void {
    const bytes = Math.min(this.socket.bytesRead - this.readBefore, MAX_CHUNK);
    this.holding?.update(this.waiting.length + bytes / COUNTED_BYTES);
  }

  private forgetWaiting(): void {
    this.waiting.length = 0;
    this.holding?.end();
    this.holding = undefined;
  }
}

/**
 * Makes a handler run in the current asynchronous context, which holds the trace of the request.
 * `AsyncResource.bind()` does the same, but takes several times as long.
 */
function keepContext(handler: Handler): Handler {
  const context = new AsyncResource('PipelinedRequest');
  return (req, res) => context.runInAsyncScope(handler, undefined, req, res);
}
