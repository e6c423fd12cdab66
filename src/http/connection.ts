import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How many requests may wait for the one before them, on all connections together. */
export const WAITING_LIMIT = 20_000;
/** How often a connection to which nothing can be written is looked at, in milliseconds. */
const STALL_CHECK_MS = 1_000;
/** How many turns of the event loop it takes at most to read what the system holds for a connection. */
export const READ_TURNS = 3;

export type Handler = (req: IncomingMessage, res: ServerResponse) => void;

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly handler: Handler;
}

/** The connections on which requests wait, and how many do. */
const pipelined = new Set<Connection>();
let waitingOnAll = 0;

/**
 * A connection, whose requests are handled one at a time, in the order in which they came: what one
 * finds depends on those before it (RFC 9112 section 9.3.2). While a request waits, nothing more is
 * read, so that no client can make the server keep more than one piece of what it has sent.
 */
export class Connection {
  private current: ServerResponse | undefined;
  private readonly waiting: Exchange[] = [];
  /** No request after those that have come is handled. */
  private isEnding = false;
  /** Answers, after all requests, to what is none. */
  private refusal: (() => void) | undefined;
  private isHeld = false;
  /** Resolves when no further connection can come; undefined until the server stops. */
  private lastAccepted: Promise<void> | undefined;
  /** Times are those of `performance.now()`. */
  private stalledSince = 0;
  private lastStall = 0;
  private clientsTurnSince = 0;

  /** @param isTooMany whether it is beyond the limit of connections, so that its requests are refused */
  constructor(
    private readonly socket: Socket,
    readonly isTooMany: boolean,
  ) {
    // Node reads on at the end of each request, and whenever a body is read.
    socket.on('resume', () => {
      if (!this.isHeld) return;
      // After a resume and a pause in one turn it reads, and a second pause would change nothing.
      if (socket.isPaused()) socket.resume();
      else socket.pause();
    });
    socket.once('close', () => this.forgetWaiting());
  }

  /** Has a request handled once those before it are answered. */
  handle(req: IncomingMessage, res: ServerResponse, handler: Handler): void {
    if (this.isEnding) {
      this.hold();
      return;
    }
    // Node drops what follows such a request in the same piece, be it the head of another request,
    // whose body would then be taken for one.
    if (req.headers.upgrade !== undefined) this.isEnding = true;
    if (this.isIdle) this.begin(req, res, handler);
    else this.wait({ req, res, handler });
  }

  /**
   * Calls back once all requests are answered, to answer to what came after them and is no request.
   * Nothing that follows is handled.
   */
  refuse(answer: () => void): void {
    // The parser fails again at every further piece of what it does not understand.
    if (this.refusal !== undefined) return;
    this.isEnding = true;
    this.refusal = answer;
    // A request with a fault in its body gets no other answer.
    if (this.waiting.at(-1)?.req.complete === false) this.taken(this.waiting.pop());
    if (this.current?.req.complete !== true) this.answerRefusal(answer);
  }

  /** Looks, each second, whether a client does not read. */
  watchWriting(): void {
    if (this.socket.writableLength > 0 && this.socket.timeout !== STALL_CHECK_MS) {
      this.socket.setTimeout(STALL_CHECK_MS);
    }
  }

  /**
   * Nothing was read or written for the time that the socket is set to.
   *
   * @param sendTimeout how long a client may take nothing of its answer, in milliseconds
   */
  onTimeout(sendTimeout: number): void {
    if (this.socket.writableLength === 0) {
      if (this.isIdle) this.socket.destroy();
      return;
    }
    const now = performance.now();
    // Where something could be written meanwhile, the socket is silent about it.
    if (now - this.lastStall > 1.5 * STALL_CHECK_MS) this.stalledSince = now - STALL_CHECK_MS;
    this.lastStall = now;
    if (now - this.stalledSince >= sendTimeout) this.socket.destroy();
    else this.socket.setTimeout(STALL_CHECK_MS);
  }

  /**
   * Goes on handling requests, and ends the connection with the answer to the last of them.
   *
   * @param lastAccepted resolves when the server accepts no further connection: a client that was
   *   told sooner that this one ends would open another, which might be lost
   */
  async stop(lastAccepted: Promise<void>): Promise<void> {
    this.lastAccepted = lastAccepted;
    await lastAccepted;
    this.clientsTurnSince = performance.now();
    this.sendConnectionClose();
  }

  /** Whether no request is under way. */
  get isIdle(): boolean {
    return this.current === undefined;
  }

  /** Closes a stopping connection whose client has had so many milliseconds to send or to read. */
  closeAfter(limit: number): void {
    const now = performance.now();
    const isAnswerDue = this.current?.req.complete === true && !this.current.headersSent;
    if (isAnswerDue) this.clientsTurnSince = now;
    else if (now - this.clientsTurnSince > limit) this.destroy();
  }

  destroy(): void {
    this.isEnding = true;
    this.forgetWaiting();
    this.socket.destroy();
  }

  private begin(req: IncomingMessage, res: ServerResponse, handler: Handler): void {
    this.current = res;
    res.on('close', this.onAnswered);
    if (this.lastAccepted !== undefined) {
      void this.beginWhileStopping(req, res, handler);
    } else {
      if (this.isEnding) this.sendConnectionClose();
      handler(req, res);
    }
  }

  /** Reads first what the client had sent before it could know that the connection ends. */
  private async beginWhileStopping(
    req: IncomingMessage,
    res: ServerResponse,
    handler: Handler,
  ): Promise<void> {
    await this.lastAccepted;
    this.clientsTurnSince = performance.now();
    for (let turn = 0; turn < READ_TURNS; turn++) await nextTurn();
    if (this.current !== res) return;
    this.sendConnectionClose();
    handler(req, res);
  }

  /** The answer under way says that the connection ends with it, unless more are to follow. */
  private sendConnectionClose(): void {
    const { current, waiting, refusal } = this;
    if (current === undefined || current.headersSent) return;
    if (waiting.length > 0 || refusal !== undefined) return;
    this.isEnding = true;
    current.setHeader('Connection', 'close');
  }

  private readonly onAnswered = (): void => {
    this.current = undefined;
    // An answer may have ended the connection, and then nothing after it is handled.
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
    this.hold();
    if (++waitingOnAll > WAITING_LIMIT) Connection.closeLongest();
  }

  /** A request does not wait any more. */
  private taken(exchange: Exchange | undefined): Exchange | undefined {
    if (exchange === undefined) return undefined;
    waitingOnAll--;
    if (this.waiting.length === 0) {
      pipelined.delete(this);
      this.release();
    }
    return exchange;
  }

  private forgetWaiting(): void {
    waitingOnAll -= this.waiting.length;
    this.waiting.length = 0;
    pipelined.delete(this);
  }

  private hold(): void {
    this.isHeld = true;
    this.socket.pause();
  }

  private release(): void {
    this.isHeld = false;
    this.socket.resume();
  }

  /** The client that has most requests waiting is the least likely to be an honest one. */
  private static closeLongest(): void {
    let [longest] = pipelined;
    for (const one of pipelined) {
      if (one.waiting.length > (longest?.waiting.length ?? 0)) longest = one;
    }
    longest?.destroy();
  }
}
