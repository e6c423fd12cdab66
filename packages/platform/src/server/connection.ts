import type { Request, Response } from 'express';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { stopParsing } from './fast-express-adapter.js';
import { explainParserError } from './send-error.js';
import { resetConnection } from './send-stream.js';

/** How many headers a request may have. */
export const MAX_HEADERS = 100;

/** What a connection asks of the server. */
interface Server {
  /** Whether each answer ends its connection. */
  readonly isStopping: boolean;
  /** Handles a request. */
  handle(req: Request, res: Response): void;
  /** Answers input that is not a request, and closes the connection. */
  refuse(socket: Socket, error: ApiError): void;
}

/** An open connection. It passes on one request at a time, and ends with the answer that must be last. */
export class Connection {
  /** The answer to the request that is being handled. */
  private current: Response | undefined;
  /** How many bytes had been read when its last request ended. */
  private handledBytes = 0;
  /** Whether a request waits for the end of the current answer, in this iteration of the event loop. */
  private isRequestWaiting = false;

  /** @param isOverLimit whether it was opened when there were too many: its requests get 503 */
  constructor(
    private readonly socket: Socket,
    private readonly server: Server,
    private readonly isOverLimit: boolean,
  ) {}

  /**
   * Takes the next request. Its client may have received the whole answer to the one before, and Node
   * learns only later in this iteration of the event loop that the system sent it.
   */
  take(req: Request, res: Response): void {
    const { current, socket } = this;
    const isEndBeingSent = current?.writableEnded === true && socket.writableLength > 0;
    if (!isEndBeingSent || this.isRequestWaiting) {
      this.begin(req, res);
      return;
    }
    this.isRequestWaiting = true;
    setImmediate(() => {
      this.isRequestWaiting = false;
      this.begin(req, res);
    });
  }

  /**
   * Lets a request be handled: not while another one has no answer yet, and not after an answer that
   * ended the connection.
   */
  private begin(req: Request, res: Response): void {
    if (!this.socket.writable) return;
    if (this.current !== undefined) {
      this.endAfterCurrent();
      return;
    }
    this.current = res;
    req.state.isOverLimit = this.isOverLimit;
    if (this.server.isStopping || isEndUncertain(req)) res.setHeader('Connection', 'close');
    this.server.handle(req, res);
  }

  /** Lets the next request begin, once the answer to the current one is over. */
  endRequest(): void {
    this.current = undefined;
    this.handledBytes = this.socket.bytesRead;
  }

  /** Tells the client, if it has no headers yet, that the current answer is the last. */
  announceEnd(): void {
    if (this.current?.headersSent === false) this.current.setHeader('Connection', 'close');
  }

  /** Closes it, or refuses its request, once its client has sent and taken nothing for too long. */
  timeOut(): void {
    const { current, socket } = this;
    if (socket.writableLength > 0) socket.resetAndDestroy();
    // No request is being handled, or one whose body can never arrive.
    else if (current === undefined || current.req.state.bodyError !== undefined) socket.destroy();
    else if (isReadByModule(current.req)) {
      this.failBody(current, new ApiError(ErrorCatalogue.REQUEST_TIMEOUT));
    }
  }

  /** Refuses input that Node cannot parse. */
  refuseInput(error: NodeJS.ErrnoException): void {
    const { current, socket, server } = this;
    // Each further piece of malformed input is reported again.
    if (!socket.writable) return;
    if (current === undefined) {
      server.refuse(socket, explainParserError(error));
    } else if (current.req.complete) {
      // The input is malformed behind the request.
      this.endAfterCurrent();
    } else if (current.req.state.bodyError === undefined) {
      this.failBody(current, explainParserError(error));
    }
  }

  /** Refuses CONNECT, with which a client asks a proxy for a tunnel (RFC 9110 section 9.3.6). */
  refuseTunnel(): void {
    // Node has removed its own listener.
    this.socket.on('error', () => undefined);
    if (this.current !== undefined) {
      this.endAfterCurrent();
      return;
    }
    const error = new ApiError(ErrorCatalogue.METHOD_NOT_ALLOWED, 'This service is no proxy', {
      Allow: '',
    });
    this.server.refuse(this.socket, error);
  }

  /** Closes it if it is idle, and refuses a request that has half arrived: the server stops. */
  refuseUnfinished(): void {
    const { current, socket, server } = this;
    // The end of a refused connection is being sent.
    if (!socket.writable) return;
    if (current !== undefined) {
      current.req.state.failBody?.(new ApiError(ErrorCatalogue.UNAVAILABLE));
    } else if (socket.bytesRead > this.handledBytes) {
      server.refuse(socket, new ApiError(ErrorCatalogue.UNAVAILABLE));
    } else {
      socket.destroy();
    }
  }

  /** Closes it, with or without an answer. */
  resetConnection(): void {
    if (this.current === undefined) this.refuseUnfinished();
    else resetConnection(this.current);
  }

  /**
   * Ends a request whose body is malformed, cut off or too slow. If no code reads the body, the
   * request is answered as if it had none, since a change that it has made must not be refused.
   */
  private failBody(current: Response, error: ApiError): void {
    const { req } = current;
    const { state } = req;
    // A later read of the body gets the error.
    state.bodyError = error;
    if (state.failBody !== undefined) state.failBody(error);
    else if (!isReadByModule(req)) this.endAfterCurrent();
    else if (current.headersSent) resetConnection(current);
    else this.server.refuse(this.socket, error);
  }

  /**
   * Closes it after its current answer, and handles no further input. The client sends again what was
   * not answered (RFC 9112 section 9.3.2).
   */
  private endAfterCurrent(): void {
    const { current, socket } = this;
    stopParsing(socket);
    // Node resumes the socket at the end of a request.
    setImmediate(() => socket.pause());
    if (current?.headersSent === false) current.setHeader('Connection', 'close');
    else current?.once('close', () => socket.destroySoon());
  }
}

/** Whether a module reads the body of a request itself, as multer does, and has not got all of it. */
function isReadByModule(req: Request): boolean {
  if (req.complete || req.state.failBody !== undefined) return false;
  return req.listenerCount('data') > 0 || req.listenerCount('readable') > 0;
}

export function hasTooManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.length > 2 * MAX_HEADERS;
}

/** Whether it is uncertain where a request ends, so that what follows must not be handled. */
function isEndUncertain(req: IncomingMessage): boolean {
  // Node drops the rest of the chunk after such a request. If that was the head of another
  // request, the body of that one would be parsed as a request.
  if (req.headers.upgrade !== undefined) return true;
  // A sender of HTTP/1.0 may not know chunks, and so may delimit requests differently than the
  // parser (RFC 9112 section 6.1).
  if (req.httpVersion === '1.0' && 'transfer-encoding' in req.headers) return true;
  // Node has dropped some of the headers, perhaps the ones above.
  return hasTooManyHeaders(req);
}
