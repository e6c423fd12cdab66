import { type BeforeApplicationShutdown, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Env } from '../config/env.js';
import { WRITE_TIMEOUT_MS } from '../config/time-limits.js';
import { droppedConnections, openConnections } from '../metrics/metrics.js';

/** How many connections beyond the limit are told so, before further ones are closed unanswered. */
const REFUSAL_HEADROOM = 1_000;
/** How long taking in what has arrived may last at most, in milliseconds; new clients may prolong it. */
const DRAIN_ACCEPT_MS = 2_000;
/** How long clients may then take to send what they began and to read their answers, in milliseconds. */
const DRAIN_CLIENT_MS = 3_000;
/** How long answers may then take to be made, in milliseconds: longer than any create waits. */
const DRAIN_HANDLER_MS = WRITE_TIMEOUT_MS + 1_000;
/** How often connections that may be closed are looked for then, in milliseconds. */
const SWEEP_INTERVAL = 50;

type Response = ServerResponse & { readonly req: IncomingMessage };

type Connection = Socket & {
  /** Node's own note of the response that is under way. */
  readonly _httpMessage?: Response | null;
  /** Its parser, with the last request that came and is not answered. */
  readonly parser?: { readonly incoming?: IncomingMessage | null } | null;
};

/** The connections of the server: how many there may be, and how they end when it closes. */
@Injectable()
export class Connections implements OnModuleInit, BeforeApplicationShutdown {
  private readonly open = new Set<Connection>();
  /** The last request of a connection, once the server closes. */
  private readonly last = new WeakMap<Socket, Response>();
  private readonly tooMany = new WeakSet<Socket>();
  private accepted = 0;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly env: Env,
  ) {}

  onModuleInit(): void {
    const { server, open } = this;
    server.maxConnections = this.env.MAX_CONNECTIONS + REFUSAL_HEADROOM;
    server.on('drop', () => droppedConnections.inc());
    server.on('connection', (socket: Connection) => {
      this.accepted++;
      open.add(socket);
      if (open.size > this.env.MAX_CONNECTIONS) this.tooMany.add(socket);
      socket.once('close', () => {
        open.delete(socket);
        openConnections.set(open.size);
      });
      openConnections.set(open.size);
    });
  }

  /** Whether a connection is one beyond the limit, on which requests are refused. */
  isTooMany(socket: Socket): boolean {
    return this.tooMany.has(socket);
  }

  /**
   * Lets every request that has arrived be answered, and every connection end after its answer.
   * Node alone waits for busy keep-alive clients for ever.
   */
  async beforeApplicationShutdown(): Promise<void> {
    const { server, open } = this;
    if (!server.listening) return;
    const closeIdle = server.closeIdleConnections.bind(server);
    // Node calls this too, and would cut off answers that are made and not yet sent.
    server.closeIdleConnections = () => {
      if (![...open].some(isSending)) closeIdle();
    };
    for (const { _httpMessage: response } of open) if (response) this.sendConnectionClose(response);
    await this.acceptBacklog();
    server.prependListener('request', (_, response: Response) =>
      this.sendConnectionClose(response),
    );
    const began = performance.now();
    const sweep = setInterval(() => {
      const time = performance.now() - began;
      server.closeIdleConnections();
      for (const socket of open) if (hasTimeEnded(socket, time)) socket.destroy();
    }, SWEEP_INTERVAL);
    server.once('close', () => clearInterval(sweep));
  }

  /**
   * Accepts the connections and reads the bytes that the system holds for this program: their
   * clients see them as sent. Each turn of the event loop does one of the two.
   */
  private async acceptBacklog(): Promise<void> {
    // Not at once: of requests in one piece, the first may be answered before the second is seen.
    const announceSoon = (_: IncomingMessage, response: Response): void => {
      setImmediate(() => this.sendConnectionClose(response));
    };
    this.server.on('request', announceSoon);
    const end = performance.now() + DRAIN_ACCEPT_MS;
    let before: number;
    do {
      before = this.accepted;
      for (let turn = 0; turn < 3; turn++) await nextTurn();
    } while (this.accepted > before && performance.now() < end);
    this.server.off('request', announceSoon);
  }

  /** The answer to the last of pipelined requests says that the connection ends, and no other. */
  private sendConnectionClose(response: Response): void {
    const socket = response.req.socket as Connection;
    if (response.headersSent || socket.parser?.incoming !== response.req) return;
    const before = this.last.get(socket);
    if (before?.headersSent === false) before.shouldKeepAlive = true;
    response.shouldKeepAlive = false;
    this.last.set(socket, response);
  }

  private get server(): Server {
    return this.adapterHost.httpAdapter.getHttpServer() as Server;
  }
}

function isSending({ _httpMessage: response }: Connection): boolean {
  return response?.writableEnded === true;
}

/** Whether a connection has had its time, this many milliseconds after the server began to close. */
function hasTimeEnded({ bytesRead, _httpMessage: response }: Connection, time: number): boolean {
  if (bytesRead === 0) return true;
  const isAnswerDue = response?.req.complete === true && !response.headersSent;
  return time > (isAnswerDue ? DRAIN_HANDLER_MS : DRAIN_CLIENT_MS);
}
