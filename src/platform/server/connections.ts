import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Env, WAIT_TIMEOUT_MS } from '../config/env.js';
import { droppedConnections, openConnections } from '../observability/metrics.js';
import { ConnectionDrain, DRAIN_CLIENT_MS, readReceived } from './connection-drain.js';
import { SendTimeout } from './send-timeout.js';
import { type Handler, PipelinedRequests } from './pipelined-requests.js';

/** How many connections beyond the limit get 503; further ones are closed unanswered. */
const REFUSAL_HEADROOM = 1_000;
/** How often the server looks for clients that do not read, in milliseconds. */
const READING_CHECK_MS = 1_000;
/**
 * How many connections the operating system queues until they are accepted. It drops the others
 * without a refusal, and their clients try again after 1 second. Node accepts one in each turn of
 * its event loop, so in a flood a longer queue would make each connection wait longer than that.
 */
export const BACKLOG = 1_024;
/** How long a stopping server accepts connections from the backlog, in milliseconds. */
const DRAIN_ACCEPT_MS = 3_000;
/**
 * How long a handler may take when the server stops, in milliseconds: longer than any write waits.
 */
const DRAIN_HANDLER_MS = WAIT_TIMEOUT_MS + 250;
/** How long before its end a stop refuses requests without an answer, in milliseconds. */
const DRAIN_REFUSE_MS = 500;
/** How often a stopping server looks for connections to close, in milliseconds. */
const DRAIN_CHECK_MS = 50;

/**
 * Returns how long after the beginning of a stop the last connection is closed, in milliseconds.
 */
export function getMaxDrainMs(graceMs: number): number {
  return Math.max(graceMs, DRAIN_CLIENT_MS) + DRAIN_HANDLER_MS;
}

/** A connection: the order of its requests, its time limits, and its end when the server stops. */
class Connection {
  readonly requests: PipelinedRequests;
  readonly sendTimeout: SendTimeout;
  readonly drain: ConnectionDrain;

  /** @param isOverLimit whether there are too many connections, so that its requests are refused */
  constructor(
    private readonly socket: Socket,
    sendTimeoutMs: number,
    readonly isOverLimit: boolean,
  ) {
    this.requests = new PipelinedRequests(socket);
    this.sendTimeout = new SendTimeout(socket, this.requests, sendTimeoutMs);
    this.drain = new ConnectionDrain(socket, this.requests);
  }

  closeIfIdle(): void {
    if (this.socket.writableLength === 0 && this.requests.isIdle) this.socket.destroy();
  }
}

/** The connections of the server: limits their number, and closes them when the server stops. */
@Injectable()
export class Connections implements OnModuleInit, BeforeApplicationShutdown {
  private readonly open = new Map<Socket, Connection>();
  private accepted = 0;
  /** Answers requests for which a stop leaves no time. */
  refuse: Handler = (req) => req.socket.destroy();
  /** Resolves when the server accepts no more connections; undefined until it stops. */
  private acceptingEnded: Promise<void> | undefined;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly env: Env,
  ) {}

  onModuleInit(): void {
    const { server, open, env } = this;
    server.maxConnections = env.MAX_CONNECTIONS + REFUSAL_HEADROOM;
    server.on('drop', () => droppedConnections.inc());
    server.on('connection', (socket: Socket) => this.add(socket));
    // With a listener, Node does not destroy idle sockets itself.
    server.on('timeout', (socket: Socket) => open.get(socket)?.closeIfIdle());
    const check = setInterval(() => {
      for (const { sendTimeout } of open.values()) sendTimeout.checkReading();
    }, READING_CHECK_MS).unref();
    server.once('close', () => clearInterval(check));
  }

  /** Returns the connection of a socket; one over the limit if the socket has closed. */
  get(socket: Socket): Connection {
    return this.open.get(socket) ?? new Connection(socket, this.env.SEND_TIMEOUT_MS, true);
  }

  /** Begins to close every connection after the answer to its last request. */
  async beforeApplicationShutdown(): Promise<void> {
    const { server, open, env } = this;
    if (!server.listening) return;
    const graceMs = env.SHUTDOWN_GRACE_MS;
    const end = performance.now() + getMaxDrainMs(graceMs);
    this.acceptingEnded = this.acceptBacklog();
    for (const { drain } of open.values()) void drain.start(this.acceptingEnded);
    await this.acceptingEnded;
    const sweep = setInterval(() => {
      const left = end - performance.now();
      for (const { requests, drain } of open.values()) {
        if (left < 0) requests.destroy();
        else if (left < DRAIN_REFUSE_MS) requests.refuseCurrent(this.refuse);
        else drain.check(graceMs);
      }
    }, DRAIN_CHECK_MS);
    server.once('close', () => clearInterval(sweep));
  }

  /** Accepts the connections in the backlog, which their clients consider open. */
  private async acceptBacklog(): Promise<void> {
    const end = performance.now() + DRAIN_ACCEPT_MS;
    // Those beyond the length of the queue came after the beginning of the stop.
    const last = this.accepted + BACKLOG;
    let before: number;
    do {
      before = this.accepted;
      await readReceived();
    } while (this.accepted > before && this.accepted <= last && performance.now() < end);
  }

  private add(socket: Socket): void {
    const { open, env } = this;
    const connection = new Connection(
      socket,
      env.SEND_TIMEOUT_MS,
      open.size >= env.MAX_CONNECTIONS,
    );
    this.accepted++;
    if (this.acceptingEnded !== undefined) void connection.drain.start(this.acceptingEnded);
    open.set(socket, connection);
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
