import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Env } from '../config/env.js';
import { WRITE_TIMEOUT_MS } from '../config/time-limits.js';
import { droppedConnections, openConnections } from '../metrics/metrics.js';
import { Connection, READ_TURNS } from './connection.js';

/** How many connections beyond the limit are told so, before further ones are closed unanswered. */
const REFUSAL_HEADROOM = 1_000;
/** How often connections whose clients do not read are looked for, in milliseconds. */
const WATCH_INTERVAL_MS = 1_000;
/** How long accepting what has arrived may last at most, in milliseconds; new clients may prolong it. */
const DRAIN_ACCEPT_MS = 1_000;
/** How long a client may then take to send the rest of a request or to read its answer, in milliseconds. */
const DRAIN_CLIENT_MS = 2_500;
/** How long the answer to a request is waited for, in milliseconds: a write is answered in time. */
const DRAIN_HANDLER_MS = WRITE_TIMEOUT_MS + 500;
/** How often connections that may be closed are looked for then, in milliseconds. */
const DRAIN_INTERVAL_MS = 50;

/** The connections of the server: how many there may be, and how they end when it closes. */
@Injectable()
export class Connections implements OnModuleInit, BeforeApplicationShutdown {
  private readonly open = new Map<Socket, Connection>();
  private accepted = 0;
  /** Resolves when no further connection can come; undefined until the server stops. */
  private lastAccepted: Promise<void> | undefined;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly env: Env,
  ) {}

  onModuleInit(): void {
    const { server, open, env } = this;
    server.maxConnections = env.MAX_CONNECTIONS + REFUSAL_HEADROOM;
    server.on('drop', () => droppedConnections.inc());
    server.on('connection', (socket: Socket) => this.add(socket));
    // With a listener Node does not close the connection by itself, neither an idle one.
    server.on('timeout', (socket: Socket) => open.get(socket)?.onTimeout(env.SEND_TIMEOUT_MS));
    const watch = setInterval(() => {
      for (const connection of open.values()) connection.watchWriting();
    }, WATCH_INTERVAL_MS).unref();
    server.once('close', () => clearInterval(watch));
  }

  /** The connection of a socket. */
  of(socket: Socket): Connection {
    return this.open.get(socket) ?? this.add(socket);
  }

  /** Lets every request that has arrived be answered, and every connection end after its answer. */
  async beforeApplicationShutdown(): Promise<void> {
    const { server, open } = this;
    if (!server.listening) return;
    this.lastAccepted = this.acceptBacklog();
    for (const connection of open.values()) void connection.stop(this.lastAccepted);
    await this.lastAccepted;
    const grace = this.env.SHUTDOWN_GRACE_MS;
    const end = performance.now() + Math.max(grace, DRAIN_CLIENT_MS) + DRAIN_HANDLER_MS;
    const sweep = setInterval(() => {
      const isOver = performance.now() > end;
      for (const connection of open.values()) {
        if (isOver) connection.destroy();
        else connection.closeAfter(connection.isIdle ? grace : DRAIN_CLIENT_MS);
      }
    }, DRAIN_INTERVAL_MS);
    server.once('close', () => clearInterval(sweep));
  }

  /**
   * Accepts the connections and reads the bytes that the system holds for this program: their
   * clients see them as sent. Each turn of the event loop does one of the two.
   */
  private async acceptBacklog(): Promise<void> {
    const end = performance.now() + DRAIN_ACCEPT_MS;
    let before: number;
    do {
      before = this.accepted;
      for (let turn = 0; turn < READ_TURNS; turn++) await nextTurn();
    } while (this.accepted > before && performance.now() < end);
  }

  private add(socket: Socket): Connection {
    const { open, env } = this;
    const connection = new Connection(socket, open.size >= env.MAX_CONNECTIONS);
    this.accepted++;
    if (this.lastAccepted !== undefined) void connection.stop(this.lastAccepted);
    open.set(socket, connection);
    openConnections.set(open.size);
    socket.once('close', () => {
      open.delete(socket);
      openConnections.set(open.size);
    });
    return connection;
  }

  private get server(): Server {
    return this.adapterHost.httpAdapter.getHttpServer() as Server;
  }
}
