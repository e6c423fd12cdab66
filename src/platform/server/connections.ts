import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Env } from '../config/env.js';
import { WRITE_TIMEOUT_MS } from '../config/time-limits.js';
import { droppedConnections, openConnections } from '../observability/metrics.js';
import { Connection, READ_TURNS } from './connection.js';

/** How many connections beyond the limit get 503; further ones are closed unanswered. */
const REFUSAL_HEADROOM = 1_000;
/** How often clients that do not read are looked for, in milliseconds. */
const WRITE_CHECK_MS = 1_000;
// A stop, step by step.
/** The longest time for accepting connections that wait in the backlog, in milliseconds. */
const DRAIN_ACCEPT_MS = 1_000;
/** The time for a client to send the rest of a request or to read its answer, in milliseconds. */
const DRAIN_CLIENT_MS = 2_000;
/** The time for an answer to be made, in milliseconds: longer than any write waits. */
const DRAIN_HANDLER_MS = WRITE_TIMEOUT_MS + 250;
/** How often connections to be closed are looked for, in milliseconds. */
const DRAIN_CHECK_MS = 50;

/** How long after the beginning of a stop the last connection is closed, in milliseconds. */
export function longestDrain(grace: number): number {
  return Math.max(grace, DRAIN_CLIENT_MS) + DRAIN_HANDLER_MS;
}

/** The connections of the server: limits their number, and closes them when the server stops. */
@Injectable()
export class Connections implements OnModuleInit, BeforeApplicationShutdown {
  private readonly open = new Map<Socket, Connection>();
  private accepted = 0;
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
    // Having a listener, Node leaves it to close an idle connection too.
    server.on('timeout', (socket: Socket) => open.get(socket)?.onTimeout(env.SEND_TIMEOUT_MS));
    const check = setInterval(() => {
      for (const connection of open.values()) connection.checkWriting();
    }, WRITE_CHECK_MS).unref();
    server.once('close', () => clearInterval(check));
  }

  /** The connection of a socket. */
  of(socket: Socket): Connection {
    return this.open.get(socket) ?? new Connection(socket, true);
  }

  /** Begins to close every connection after the answer to its last request. */
  async beforeApplicationShutdown(): Promise<void> {
    const { server, open, env } = this;
    if (!server.listening) return;
    const grace = env.SHUTDOWN_GRACE_MS;
    const end = performance.now() + longestDrain(grace);
    this.acceptingEnded = this.acceptBacklog();
    for (const connection of open.values()) void connection.stop(this.acceptingEnded);
    await this.acceptingEnded;
    const sweep = setInterval(() => {
      const isOver = performance.now() > end;
      for (const connection of open.values()) {
        if (isOver) connection.destroy();
        else connection.closeAfter(connection.isIdle ? grace : DRAIN_CLIENT_MS);
      }
    }, DRAIN_CHECK_MS);
    server.once('close', () => clearInterval(sweep));
  }

  /**
   * Accepts the connections that wait in the backlog, whose clients take them for open. Each turn of
   * the event loop accepts some, or reads from some.
   */
  private async acceptBacklog(): Promise<void> {
    const end = performance.now() + DRAIN_ACCEPT_MS;
    let before: number;
    do {
      before = this.accepted;
      for (let turn = 0; turn < READ_TURNS; turn++) await nextTurn();
    } while (this.accepted > before && performance.now() < end);
  }

  private add(socket: Socket): void {
    const { open, env } = this;
    const connection = new Connection(socket, open.size >= env.MAX_CONNECTIONS);
    this.accepted++;
    if (this.acceptingEnded !== undefined) void connection.stop(this.acceptingEnded);
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
