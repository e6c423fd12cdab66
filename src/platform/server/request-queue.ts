import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getClient } from '../auth/client.js';
import { holdReading, releaseReading } from './socket-reading.js';

/** How many requests may wait for the one before them, on all connections together. */
export const WAITING_LIMIT = 20_000;

/** Answers a request. */
export type Handler = (req: IncomingMessage, res: ServerResponse) => void;

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly handler: Handler;
}

/** What becomes of further input: requests are handled, it is ignored, or it gets one last answer. */
type Intake = 'open' | 'closed' | { readonly writeLastAnswer: () => void };

/** The queues in which requests wait, and how many wait in all of them. */
const waitingQueues = new Set<RequestQueue>();
let waitingInAll = 0;

/**
 * The requests of one connection, which are handled one at a time, in the order in which they came:
 * only those with safe methods may be handled in parallel (RFC 9112 section 9.3.2). While a request
 * waits, the socket is not read, so that the server holds no more than one chunk of requests.
 */
export class RequestQueue {
  private current: ServerResponse | undefined;
  private readonly waiting: Exchange[] = [];
  private intake: Intake = 'open';
  /** Resolves when all that the client has sent is read. Undefined unless the server stops. */
  private readAhead: (() => Promise<void>) | undefined;

  constructor(readonly socket: Socket) {
    socket.once('close', () => this.forgetWaiting());
  }

  /** Whether no request is under way. */
  get isIdle(): boolean {
    return this.current === undefined;
  }

  /** Whether a request has arrived whole, and its answer has not begun. */
  get isAnswerDue(): boolean {
    return this.current?.req.complete === true && !this.current.headersSent;
  }

  /** How many requests wait for the one under way. */
  get length(): number {
    return this.waiting.length;
  }

  /** Stands for the client of the last request with a good token, or for its address. */
  get clientName(): string {
    return getClient(this).name;
  }

  /** Handles a request once those before it have been answered. */
  handle(req: IncomingMessage, res: ServerResponse, handler: Handler): void {
    if (this.intake !== 'open') {
      holdReading(this.socket, this);
      return;
    }
    // Node drops what follows such a request in the same chunk. If that is the head of another
    // request, its body would be parsed as a request.
    if (req.headers.upgrade !== undefined) this.intake = 'closed';
    // Whoever sends this may not know chunks, and so sees other requests than the parser does
    // (RFC 9112 section 6.1).
    if (req.httpVersion === '1.0' && 'transfer-encoding' in req.headers) this.intake = 'closed';
    if (this.isIdle) this.begin({ req, res, handler });
    // AsyncResource keeps the context of the request, such as its trace.
    else this.enqueue({ req, res, handler: AsyncResource.bind(handler) });
  }

  /**
   * Refuses input that is not a request, once the requests before it have been answered. Nothing
   * that follows is handled (RFC 9112 section 9.6).
   *
   * @param writeLastAnswer writes the answer and closes the connection
   */
  refuse(writeLastAnswer: () => void): void {
    // The parser fails again at each further chunk.
    if (typeof this.intake === 'object') return;
    this.intake = { writeLastAnswer };
    // Where the body of a request is malformed or late, this is the answer to that request.
    if (this.waiting.at(-1)?.req.complete === false) this.dequeued(this.waiting.pop());
    if (this.current?.req.complete !== true) this.answerLast(writeLastAnswer);
  }

  /** Reads ahead before each request from now on, and closes the connection after the last one. */
  startDraining(readAhead: () => Promise<void>): void {
    this.readAhead = readAhead;
  }

  /** Makes the answer under way the last of the connection, unless others are to follow. */
  closeAfterCurrent(): void {
    const { current, waiting, intake } = this;
    if (current === undefined || current.headersSent) return;
    if (waiting.length > 0 || typeof intake === 'object') return;
    this.intake = 'closed';
    current.setHeader('Connection', 'close');
  }

  /** Answers the request under way, if it has come whole and has no answer so far, and ends there. */
  refuseCurrent(refuse: Handler): void {
    const { current, isAnswerDue } = this;
    this.intake = 'closed';
    this.forgetWaiting();
    if (current === undefined || !isAnswerDue) this.socket.destroy();
    else refuse(current.req, current);
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.intake = 'closed';
    this.forgetWaiting();
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
    // Nothing is handled after an answer with which the connection ended.
    if (!this.socket.writable) this.forgetWaiting();
    const next = this.dequeued(this.waiting.shift());
    if (next !== undefined) this.begin(next);
    else if (typeof this.intake === 'object') this.answerLast(this.intake.writeLastAnswer);
  };

  private answerLast(writeLastAnswer: () => void): void {
    if (!this.socket.writable || this.current?.headersSent === true) this.socket.destroy();
    else writeLastAnswer();
  }

  private enqueue(exchange: Exchange): void {
    this.waiting.push(exchange);
    waitingQueues.add(this);
    holdReading(this.socket, this);
    if (++waitingInAll > WAITING_LIMIT) closeLongestQueue();
  }

  /** Counts a request that was taken from those that wait. */
  private dequeued(exchange: Exchange | undefined): Exchange | undefined {
    if (exchange === undefined) return undefined;
    waitingInAll--;
    if (this.waiting.length === 0) {
      waitingQueues.delete(this);
      releaseReading(this.socket, this);
    }
    return exchange;
  }

  private forgetWaiting(): void {
    waitingInAll -= this.waiting.length;
    this.waiting.length = 0;
    waitingQueues.delete(this);
  }
}

/** Of the client with most requests that wait, closes the connection with most of them. */
function closeLongestQueue(): void {
  const clients = new Map<string, { length: number; longest: RequestQueue }>();
  let largest: { length: number; longest: RequestQueue } | undefined;
  for (const queue of waitingQueues) {
    const client = clients.get(queue.clientName) ?? { length: 0, longest: queue };
    clients.set(queue.clientName, client);
    client.length += queue.length;
    if (queue.length > client.longest.length) client.longest = queue;
    if (client.length > (largest?.length ?? 0)) largest = client;
  }
  largest?.longest.destroy();
}
