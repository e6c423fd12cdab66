import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { Express, Request, Response } from 'express';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import { Env } from '../config/env.js';
import { ACCEPT_MS, LAST_ANSWER_MS, SETTLE_MS } from '../config/time-limits.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { OperatorError } from '../errors/operator.error.js';
import { RequestMetrics } from '../observability/metrics.js';
import { PinoLogger } from '../observability/pino-logger.js';
import { printFailure } from '../observability/print-failure.js';
import { FastExpressAdapter, stopParsing } from './fast-express-adapter.js';
import { refuseInput, sendError, explainParserError } from './send-error.js';
import { breakOff } from './send-stream.js';

/** How many headers a request may have. */
export const MAX_HEADERS = 100;
/** How many connections beyond the limit get 503; further ones are closed unanswered. */
const REFUSAL_HEADROOM = 1_000;
/** How many files the program has open at most, besides its connections. */
const OTHER_FILES = 100;
/**
 * How many connections the operating system queues until Node accepts them, one in each iteration
 * of its event loop. Linux allows no more by default. It silently leaves further connections half open: their
 * clients may wait for a minute, and then get a reset.
 */
export const BACKLOG = 4_096;
/** After how many iterations of the event loop without a new connection the backlog counts as empty. */
const QUIET_ITERATIONS = 3;
/** How often a stopping server looks for connections to close, in milliseconds. */
const SWEEP_MS = 50;

/** An open connection. */
class Connection {
  /** The answer to the request that is being handled. */
  current: Response | undefined;
  /** How many bytes had been read when its last request ended. */
  handledBytes = 0;
  /** Whether a request waits for the end of the current answer, in this iteration of the event loop. */
  isRequestWaiting = false;

  /** @param isOverLimit whether it was opened when there were too many: its requests get 503 */
  constructor(readonly isOverLimit: boolean) {}
}

/**
 * The connections of the server: limits their number, passes the requests of each to Express one at
 * a time, refuses input that is no request, closes those whose clients do not read, and closes all
 * when the server stops.
 */
@Injectable()
export class Connections implements OnModuleInit, BeforeApplicationShutdown {
  private readonly open = new Map<Socket, Connection>();
  private accepted = 0;
  /**
   * A stop begins with `accepting`, in which all connections are accepted and no request is handled.
   * While the server is `stopping`, each answer ends its connection.
   */
  private phase: 'serving' | 'accepting' | 'stopping' = 'serving';
  /** What handles the requests that arrived in the phase `accepting`. */
  private readonly held: (() => void)[] = [];

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly env: Env,
    private readonly logger: PinoLogger,
    private readonly metrics: RequestMetrics,
  ) {}

  /** @throws OperatorError when the application was not created by `createApplication()` */
  onModuleInit(): void {
    const { server, env } = this;
    // A standalone application of Nest, such as a script, answers no requests.
    if (server === undefined) return;
    const { httpAdapter } = this.adapterHost;
    if (!(httpAdapter instanceof FastExpressAdapter)) {
      throw refuseAdapter(httpAdapter);
    }
    server.maxConnections = env.MAX_CONNECTIONS + REFUSAL_HEADROOM;
    server.headersTimeout = env.HEADERS_TIMEOUT_MS;
    // Each reader of a body limits its time, since an import may last for hours.
    server.requestTimeout = 0;
    server.keepAliveTimeout = env.KEEP_ALIVE_TIMEOUT_MS;
    // Node drops further headers silently, so one more shows that there are too many.
    server.maxHeadersCount = MAX_HEADERS + 1;
    // The timer of a socket starts anew whenever its client sends or takes something.
    server.timeout = env.SEND_TIMEOUT_MS;

    server.on('drop', () => this.metrics.droppedConnections.inc());
    const { slowWork } = httpAdapter.limits;
    server.on('connection', (socket: Socket) => {
      slowWork.countConnection();
      this.add(socket);
    });
    // With a listener, Node does not close the connection itself.
    server.on('timeout', (socket: Socket) => {
      const current = this.open.get(socket)?.current;
      if (socket.writableLength > 0) socket.resetAndDestroy();
      // No request is being handled, or one whose body can never arrive.
      else if (current === undefined || current.req.state.bodyError !== undefined) socket.destroy();
      else if (isReadByModule(current.req)) {
        this.failBody(current, new ApiError(ErrorCatalogue.REQUEST_TIMEOUT));
      }
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // Each further piece of malformed input is reported again.
      if (!socket.writable) return;
      const current = this.open.get(socket)?.current;
      if (current === undefined) {
        this.refuse(socket, explainParserError(error));
      } else if (current.req.complete) {
        // The input is malformed behind the request.
        this.endAfterCurrent(socket);
      } else if (current.req.state.bodyError === undefined) {
        this.failBody(current, explainParserError(error));
      }
    });
    const handle = (req: Request, res: Response): void => this.handleNext(req, res);
    server.on('connect', (_: IncomingMessage, socket: Socket) => this.refuseConnect(socket));
    server.removeAllListeners('request').on('request', handle);
    // The body reader sends 100 (Continue) once the token is accepted, and the first middleware
    // refuses other expectations.
    server.on('checkContinue', handle).on('checkExpectation', handle);
  }

  /** How many files the program may have open, among them its connections. */
  get maxOpenFiles(): number {
    return this.env.MAX_CONNECTIONS + REFUSAL_HEADROOM + OTHER_FILES;
  }

  /** How long after the beginning of a stop the last connection is closed, in milliseconds. */
  get maxDrainMs(): number {
    return SETTLE_MS + ACCEPT_MS + this.env.SHUTDOWN_GRACE_MS + LAST_ANSWER_MS;
  }

  /** Lets the next request of a connection begin, once the answer to the current one is over. */
  end(socket: Socket): void {
    const connection = this.open.get(socket);
    if (connection === undefined) return;
    connection.current = undefined;
    connection.handledBytes = socket.bytesRead;
  }

  /** Begins to close every connection after the answer to its request. */
  async beforeApplicationShutdown(): Promise<void> {
    const { server, open, env } = this;
    if (server?.listening !== true) return;
    this.phase = 'accepting';
    await this.acceptBacklog();
    // Nest would stop listening later. A client that was told before that to open another connection
    // might lose it.
    void this.adapterHost.httpAdapter.close();
    this.beginStopping();
    const graceEnd = performance.now() + env.SHUTDOWN_GRACE_MS;
    const lastEnd = graceEnd + LAST_ANSWER_MS;
    let isOver = false;
    const sweep = setInterval(() => {
      const now = performance.now();
      for (const [socket, connection] of open) {
        const { current } = connection;
        if (current !== undefined && isOver) breakOff(current);
        else if (now > graceEnd) this.refuseUnfinished(socket, connection);
      }
      // On a busy machine, the last answers may come due in the same iteration of the event loop.
      isOver = now > lastEnd;
    }, SWEEP_MS);
    server.once('close', () => clearInterval(sweep));
  }

  /** Handles the requests that were held, and ends each connection with its answer. */
  private beginStopping(): void {
    this.phase = 'stopping';
    for (const { current } of this.open.values()) {
      if (current?.headersSent === false) current.setHeader('Connection', 'close');
    }
    for (const handle of this.held.splice(0)) handle();
  }

  /** Closes an idle connection of a stopping server, and refuses a request that has half arrived. */
  private refuseUnfinished(socket: Socket, { current, handledBytes }: Connection): void {
    // The end of a refused connection is being sent.
    if (!socket.writable) return;
    if (current !== undefined) {
      current.req.state.failBody?.(new ApiError(ErrorCatalogue.UNAVAILABLE));
    } else if (socket.bytesRead > handledBytes) {
      this.refuse(socket, new ApiError(ErrorCatalogue.UNAVAILABLE));
    } else {
      socket.destroy();
    }
  }

  /**
   * Handles the next request of a connection. Its client may have received the whole answer to the
   * one before, and Node learns only later in this iteration of the event loop that the system sent it.
   */
  private handleNext(req: Request, res: Response): void {
    const { socket } = req;
    const connection = this.open.get(socket);
    if (connection === undefined) return;
    const isEndBeingSent = connection.current?.writableEnded === true && socket.writableLength > 0;
    if (!isEndBeingSent || connection.isRequestWaiting) {
      this.handle(connection, req, res);
      return;
    }
    connection.isRequestWaiting = true;
    setImmediate(() => {
      connection.isRequestWaiting = false;
      this.handle(connection, req, res);
    });
  }

  private handle(connection: Connection, req: Request, res: Response): void {
    if (!this.begin(connection, req, res)) return;
    if (this.phase === 'accepting') this.held.push(() => this.passToExpress(req, res));
    else this.passToExpress(req, res);
  }

  /**
   * Begins to handle a request. Returns false if it must not be handled: while another request of
   * its connection has no answer yet, or after an answer that ended the connection.
   */
  private begin(connection: Connection, req: Request, res: Response): boolean {
    const { socket } = req;
    if (!socket.writable) return false;
    if (connection.current !== undefined) {
      this.endAfterCurrent(socket);
      return false;
    }
    connection.current = res;
    req.state.isOverLimit = connection.isOverLimit;
    if (this.phase === 'stopping' || isEndUncertain(req)) res.setHeader('Connection', 'close');
    return true;
  }

  private passToExpress(req: Request, res: Response): void {
    const express = this.adapterHost.httpAdapter.getInstance<Express>();
    express(req, res, (failure?: unknown) => {
      if (failure === undefined) {
        // Requests without a route are answered before. Only for a target without a path, such as
        // `http://`, Express calls no middleware and no filter, so none of them writes this answer.
        const error = new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be parsed');
        this.refuse(req.socket, error);
        return;
      }
      // A global filter of a module has failed.
      this.logger.error({ requestId: req.state.id, err: failure }, 'Errors');
      void sendError(res, new ApiError(ErrorCatalogue.INTERNAL));
    });
  }

  /** Refuses CONNECT, with which a client asks a proxy for a tunnel (RFC 9110 section 9.3.6). */
  private refuseConnect(socket: Socket): void {
    // Node has removed its own listener.
    socket.on('error', () => undefined);
    if (this.open.get(socket)?.current !== undefined) {
      this.endAfterCurrent(socket);
      return;
    }
    const error = new ApiError(ErrorCatalogue.METHOD_NOT_ALLOWED, 'This service is no proxy', {
      Allow: '',
    });
    this.refuse(socket, error);
  }

  /**
   * Ends a request whose body is malformed, cut off or too slow. If nobody reads the body, this concerns
   * nobody: the request is answered as if it had none. A change that it makes must not be refused.
   */
  private failBody(current: Response, error: ApiError): void {
    const { req } = current;
    const { socket, state } = req;
    // Whoever reads the body later gets the error.
    state.bodyError = error;
    if (state.failBody !== undefined) state.failBody(error);
    else if (!isReadByModule(req)) this.endAfterCurrent(socket);
    else if (current.headersSent) breakOff(current);
    else this.refuse(socket, error);
  }

  /**
   * Closes a connection after its current answer, and handles no further input. The client sends
   * again what was not answered (RFC 9112 section 9.3.2).
   */
  private endAfterCurrent(socket: Socket): void {
    const current = this.open.get(socket)?.current;
    stopParsing(socket);
    // Node resumes the socket at the end of a request.
    setImmediate(() => socket.pause());
    if (current?.headersSent === false) current.setHeader('Connection', 'close');
    else current?.once('close', () => socket.destroySoon());
  }

  /**
   * Accepts the connections in the backlog, which their clients consider open. No answer announces
   * the end of its connection yet: its client would open another, which might be lost.
   */
  private async acceptBacklog(): Promise<void> {
    const end = performance.now() + ACCEPT_MS;
    // Those beyond the length of the queue came after the beginning of the stop.
    const last = this.accepted + BACKLOG;
    await sleep(SETTLE_MS);
    let before: number;
    do {
      before = this.accepted;
      for (let quiet = 0; quiet < QUIET_ITERATIONS; quiet++) await nextIteration();
    } while (this.accepted > before && this.accepted <= last && performance.now() < end);
  }

  private add(socket: Socket): void {
    const { open, env, metrics } = this;
    this.accepted++;
    open.set(socket, new Connection(open.size >= env.MAX_CONNECTIONS));
    metrics.openConnections.set(open.size);
    socket.once('close', () => {
      open.delete(socket);
      metrics.openConnections.set(open.size);
    });
  }

  /** Answers input that is no request, and counts it. */
  private refuse(socket: Socket, error: ApiError): void {
    refuseInput(socket, error, this.logger);
    this.metrics.countRequest(undefined, undefined, error.getStatus(), 0);
  }

  private get server(): Server | undefined {
    const { httpAdapter } = this.adapterHost as {
      readonly httpAdapter?: AbstractHttpAdapter | null;
    };
    return httpAdapter?.getHttpServer() as Server | undefined;
  }
}

/**
 * Makes the error for an application with an adapter of Nest. If nobody catches it, as in a `main.ts`
 * of Nest's documentation, its line is the last one that the program prints.
 */
function refuseAdapter(adapter: AbstractHttpAdapter): OperatorError {
  process.once('uncaughtException', (error: unknown) => {
    printFailure('The service cannot start', error);
    process.exit();
  });
  return new OperatorError(
    `NestFactory.create() has made this application with the adapter of ${adapter.getType()}: write createApplication(AppModule), or in a test createApplication(moduleRef), from durable-rest/program`,
  );
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
  // Node has dropped some of the headers, and those above may be among them.
  return hasTooManyHeaders(req);
}
