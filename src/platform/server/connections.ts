import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Express, Request, Response } from 'express';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Env, WAIT_TIMEOUT_MS } from '../config/env.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { droppedConnections, openConnections } from '../observability/metrics.js';
import { PinoLogger } from '../observability/pino-logger.js';
import { stopParsing } from './fast-express-adapter.js';
import { refuseInput, toApiError } from './send-error.js';
import { breakOff } from './send-stream.js';

/** How many headers a request may have. */
export const MAX_HEADERS = 100;
/** How many connections beyond the limit get 503; further ones are closed unanswered. */
const REFUSAL_HEADROOM = 1_000;
/**
 * How many connections the operating system queues until they are accepted. It drops the others
 * without a refusal, and their clients try again after 1 second. Node accepts one in each turn of
 * its event loop, so in a flood a longer queue would make each connection wait longer than that.
 */
export const BACKLOG = 1_024;
/** How long a stopping server accepts connections from the backlog, in milliseconds. */
const ACCEPT_MS = 3_000;
/**
 * How long a stopping server waits first, in milliseconds. The answers that are under way may make
 * clients open connections. Later all clients wait for answers, and open none that could be lost.
 */
const SETTLE_MS = 25;
/** How many turns of the event loop it takes to read everything that the system has received. */
const READ_TURNS = 3;
/**
 * How long an answer may take once idle connections are closed, in milliseconds: longer than any
 * write waits.
 */
const LAST_ANSWER_MS = WAIT_TIMEOUT_MS + 250;
/** How often a stopping server looks for connections to close, in milliseconds. */
const SWEEP_MS = 50;

/**
 * The connections of the server: limits their number, passes the requests of each to Express one at
 * a time, refuses input that is no request, closes those whose clients do not read, and closes all
 * when the server stops.
 */
@Injectable()
export class Connections implements OnModuleInit, BeforeApplicationShutdown {
  /** The open connections, each with the answer to the request that is being handled. */
  private readonly open = new Map<Socket, ServerResponse | undefined>();
  /** The connections that were opened when there were too many. Their requests get 503. */
  readonly overLimit = new WeakSet<Socket>();
  private accepted = 0;
  /** Whether each answer ends its connection. */
  private isStopping = false;
  /**
   * Resolves when a stopping server has accepted all connections. No request is handled meanwhile.
   * Undefined until the server stops.
   */
  private acceptingEnded: Promise<void> | undefined;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly env: Env,
    private readonly logger: PinoLogger,
  ) {}

  onModuleInit(): void {
    const { server, env } = this;
    server.maxConnections = env.MAX_CONNECTIONS + REFUSAL_HEADROOM;
    server.headersTimeout = env.HEADERS_TIMEOUT_MS;
    // Each reader of a body limits its time, since an import may last for hours.
    server.requestTimeout = 0;
    server.keepAliveTimeout = env.KEEP_ALIVE_TIMEOUT_MS;
    // Node drops further headers silently, so one more shows that there are too many.
    server.maxHeadersCount = MAX_HEADERS + 1;
    // The timer of a socket starts anew whenever its client sends or takes something.
    server.timeout = env.SEND_TIMEOUT_MS;

    server.on('drop', () => droppedConnections.inc());
    server.on('connection', (socket: Socket) => this.add(socket));
    // With a listener, Node does not close the connection itself.
    server.on('timeout', (socket: Socket) => {
      if (socket.writableLength > 0) socket.resetAndDestroy();
      else if (this.open.get(socket) === undefined) socket.destroy();
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      // Each further piece of malformed input is reported again.
      if (!socket.writable) return;
      const current = this.open.get(socket);
      if (current?.req.complete === true) this.endAfterCurrent(socket);
      else if (current?.headersSent === true) breakOff(current);
      else refuseInput(socket, toApiError(error), this.logger);
    });
    const handle = (req: IncomingMessage, res: ServerResponse): void => {
      if (!this.begin(req, res)) return;
      if (this.acceptingEnded === undefined) this.passToExpress(req, res);
      // In a later turn: until the server stops listening in this one, a connection might be lost.
      else void this.acceptingEnded.then(() => setImmediate(() => this.passToExpress(req, res)));
    };
    server.removeAllListeners('request').on('request', handle);
    // The body reader sends 100 (Continue) once the token is accepted, and the first middleware
    // refuses other expectations.
    server.on('checkContinue', handle).on('checkExpectation', handle);
  }

  /** How long after the beginning of a stop the last connection is closed, in milliseconds. */
  get maxDrainMs(): number {
    return this.env.SHUTDOWN_GRACE_MS + LAST_ANSWER_MS;
  }

  /** Lets the next request of a connection begin, once the answer to the current one is over. */
  end(socket: Socket): void {
    if (this.open.has(socket)) this.open.set(socket, undefined);
  }

  /** Begins to close every connection after the answer to its request. */
  async beforeApplicationShutdown(): Promise<void> {
    const { server, open, env } = this;
    if (!server.listening) return;
    const began = performance.now();
    this.acceptingEnded = this.acceptBacklog();
    await this.acceptingEnded;
    this.isStopping = true;
    for (const current of open.values()) {
      if (current?.headersSent === false) current.setHeader('Connection', 'close');
    }
    const accepted = performance.now();
    const sweep = setInterval(() => {
      const now = performance.now();
      for (const [socket, current] of open) {
        if (current === undefined && now - accepted > env.SHUTDOWN_GRACE_MS) socket.destroy();
        else if (current !== undefined && now - began > this.maxDrainMs) breakOff(current);
      }
    }, SWEEP_MS);
    server.once('close', () => clearInterval(sweep));
  }

  /**
   * Begins to handle a request. Returns false if it must not be handled: while another request of
   * its connection has no answer yet, or after an answer that ended the connection.
   */
  private begin(req: IncomingMessage, res: ServerResponse): boolean {
    const { socket } = req;
    if (!this.open.has(socket) || !socket.writable) return false;
    if (this.open.get(socket) !== undefined) {
      this.endAfterCurrent(socket);
      return false;
    }
    this.open.set(socket, res);
    if (this.isStopping || isEndUncertain(req)) res.setHeader('Connection', 'close');
    return true;
  }

  private passToExpress(req: IncomingMessage, res: ServerResponse): void {
    const express = this.adapterHost.httpAdapter.getInstance<Express>();
    express(req as Request, res as Response, () => {
      const error = new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be parsed');
      refuseInput(req.socket, error, this.logger);
    });
  }

  /**
   * Closes a connection after its current answer, and handles no further input. The client sends
   * again what was not answered (RFC 9112 section 9.3.2).
   */
  private endAfterCurrent(socket: Socket): void {
    const current = this.open.get(socket);
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
      for (let turn = 0; turn < READ_TURNS; turn++) await nextTurn();
    } while (this.accepted > before && this.accepted <= last && performance.now() < end);
  }

  private add(socket: Socket): void {
    const { open, env } = this;
    this.accepted++;
    if (open.size >= env.MAX_CONNECTIONS) this.overLimit.add(socket);
    open.set(socket, undefined);
    openConnections.set(open.size);
    socket.once('close', () => {
      open.delete(socket);
      openConnections.set(open.size);
    });
  }

  private get server(): Server {
    return this.adapterHost.httpAdapter.getHttpServer() as Server;
  }
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
