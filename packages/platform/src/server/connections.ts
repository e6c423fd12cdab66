import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import type { Express, Request, Response } from 'express';
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextIteration, setTimeout as sleep } from 'node:timers/promises';
import { Env } from '../config/env.js';
import { ACCEPT_MS, getLastAnswerMs, SETTLE_MS } from '../config/time-limits.js';
import { ApiError } from '../errors/api-error.js';
import { ErrorCatalogue } from '../errors/error-catalogue.js';
import { OperatorError } from '../errors/operator.error.js';
import { RequestMetrics } from '../observability/metrics.js';
import { PinoLogger } from '../observability/pino-logger.js';
import { printFailure } from '../observability/print-failure.js';
import { Connection, MAX_HEADERS } from './connection.js';
import { FastExpressAdapter } from './fast-express-adapter.js';
import { refuseInput, sendError } from './send-error.js';

/** How many connections beyond the limit get 503; further ones are closed unanswered. */
export const REFUSAL_HEADROOM = 1_000;
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

/**
 * The connections of the server: limits their number, passes their requests to Express, and closes all
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
    const find = (socket: Socket): Connection | undefined => this.open.get(socket);
    // With a listener, Node does not close the connection itself.
    server.on('timeout', (socket: Socket) => find(socket)?.timeOut());
    server.on('clientError', (error, socket) => find(socket as Socket)?.refuseInput(error));
    server.on('connect', (_: IncomingMessage, socket: Socket) => find(socket)?.refuseTunnel());
    const take = (req: Request, res: Response): void => find(req.socket)?.take(req, res);
    server.removeAllListeners('request').on('request', take);
    // The body reader sends 100 (Continue) once the token is accepted, and the first middleware
    // refuses other expectations.
    server.on('checkContinue', take).on('checkExpectation', take);
  }

  /** How many files the program may have open, among them its connections. */
  get maxOpenFiles(): number {
    return this.env.MAX_CONNECTIONS + REFUSAL_HEADROOM + OTHER_FILES;
  }

  /** How long after the beginning of a stop the last connection is closed, in milliseconds. */
  get maxDrainMs(): number {
    const { SHUTDOWN_GRACE_MS, STORE_TIMEOUT_MS } = this.env;
    return SETTLE_MS + ACCEPT_MS + SHUTDOWN_GRACE_MS + getLastAnswerMs(STORE_TIMEOUT_MS);
  }

  /** Lets the next request of a connection begin, once the answer to the current one is over. */
  endRequest(socket: Socket): void {
    this.open.get(socket)?.endRequest();
  }

  /** Begins to close every connection after the answer to its request. */
  async beforeApplicationShutdown(): Promise<void> {
    const { server, open, env } = this;
    if (server?.listening !== true) return;
    this.phase = 'accepting';
    await this.acceptBacklog();
    // Nest would stop listening later. A client whose answer has said `Connection: close` might
    // open another connection before that, and lose it.
    void this.adapterHost.httpAdapter.close();
    this.beginStopping();
    const graceEnd = performance.now() + env.SHUTDOWN_GRACE_MS;
    const lastEnd = graceEnd + getLastAnswerMs(env.STORE_TIMEOUT_MS);
    let isOver = false;
    const sweep = setInterval(() => {
      const now = performance.now();
      for (const connection of open.values()) {
        if (isOver) connection.resetConnection();
        else if (now > graceEnd) connection.refuseUnfinished();
      }
      // On a busy machine, the last answers may come due in the same iteration of the event loop.
      isOver = now > lastEnd;
    }, SWEEP_MS);
    server.once('close', () => clearInterval(sweep));
  }

  /** Handles the requests that were held, and ends each connection with its answer. */
  private beginStopping(): void {
    this.phase = 'stopping';
    for (const connection of this.open.values()) connection.announceEnd();
    for (const handle of this.held.splice(0)) handle();
  }

  get isStopping(): boolean {
    return this.phase === 'stopping';
  }

  /** Handles the request of a connection, or holds it for a moment while the server begins to stop. */
  handle(req: Request, res: Response): void {
    if (this.phase === 'accepting') this.held.push(() => this.passToExpress(req, res));
    else this.passToExpress(req, res);
  }

  private passToExpress(req: Request, res: Response): void {
    const express = this.adapterHost.httpAdapter.getInstance<Express>();
    express(req, res, (failure?: unknown) => {
      if (failure === undefined) {
        // Requests without a route are answered before. Only for a target without a path, such as
        // `http://`, Express calls no middleware and no filter, so neither writes this answer.
        const error = new ApiError(ErrorCatalogue.MALFORMED_REQUEST, 'The path cannot be parsed');
        this.refuse(req.socket, error);
        return;
      }
      // A global filter of a module has failed.
      this.logger.error({ requestId: req.state.id, err: failure }, 'Errors');
      void sendError(res, new ApiError(ErrorCatalogue.INTERNAL));
    });
  }

  /**
   * Accepts the connections in the backlog, which their clients consider open. No answer announces
   * the end of its connection yet: its client would open another, which might be lost.
   */
  private async acceptBacklog(): Promise<void> {
    const end = performance.now() + ACCEPT_MS;
    // Connections beyond the length of the queue came after the beginning of the stop.
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
    open.set(socket, new Connection(socket, this, open.size >= env.MAX_CONNECTIONS));
    metrics.openConnections.set(open.size);
    socket.once('close', () => {
      open.delete(socket);
      metrics.openConnections.set(open.size);
    });
  }

  /** Answers input that is not a request, counts it, and closes its connection. */
  refuse(socket: Socket, error: ApiError): void {
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
 * Makes the error for an application with an adapter of Nest. If no code catches it, as in a
 * `main.ts` of Nest's documentation, its line is the last one that the program prints.
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
