import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type HttpAnswer, listAnswers, takeAnswer } from './answer.js';
import { type HttpRequest, writeBytes } from './request.js';

/** How long an answer may take, in milliseconds: only a hanging service takes longer. */
const ANSWER_TIME_MS = 240_000;

/** A connection to the program that records the answers. */
export class ClientConnection {
  /** The received answers. */
  readonly answers: HttpAnswer[] = [];
  /** Resolves with whether the connection was opened. */
  readonly opened: Promise<boolean>;
  readonly closed: Promise<void>;
  private readonly socket: Socket;
  private received: Buffer = Buffer.alloc(0);
  /** Whether the next answer is that of a HEAD. */
  private forHead = false;
  private failure = new Error('the connection has ended without an answer');
  private seen = 0;
  private wake: () => void = () => undefined;

  constructor(port: number, host = '127.0.0.1') {
    // A close event follows each error.
    this.socket = connect({ port, host, noDelay: true }).on('error', () => undefined);
    this.opened = new Promise((resolve) => {
      this.socket.on('connect', () => resolve(true)).on('close', () => resolve(false));
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.wake();
        resolve();
      });
    });
    this.socket.on('timeout', () => this.socket.destroy());
    this.socket.on('data', (data: Buffer) => {
      this.received = this.received.length === 0 ? data : Buffer.concat([this.received, data]);
      this.read();
    });
  }

  get isOpen(): boolean {
    return this.socket.readyState === 'open';
  }

  /** Resolves once the system has taken the bytes, or never will. */
  async write(bytes: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** Resolves with the next answer, or with undefined once the connection is closed. */
  async next(): Promise<HttpAnswer | undefined> {
    const seen = (this.seen += 1);
    while (this.answers.length < seen && !this.socket.closed) {
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
    return this.answers[seen - 1];
  }

  /**
   * Sends the bytes of one request, and resolves with its answer.
   *
   * @throws Error without an answer, or with one that is not HTTP
   */
  async ask(bytes: string | Uint8Array, forHead = false): Promise<HttpAnswer> {
    this.answers.length = this.seen = 0;
    this.forHead = forHead;
    this.socket.setTimeout(ANSWER_TIME_MS);
    this.socket.write(bytes);
    const answer = await this.next();
    if (answer === undefined) throw this.failure;
    if (this.received.length > 0 || this.answers.length > this.seen) {
      throw new Error('more bytes follow the answer');
    }
    return answer;
  }

  /** Stops reading. */
  pause(): void {
    this.socket.pause();
  }

  destroy(): void {
    this.socket.destroy();
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  private read(): void {
    try {
      while (this.received.length > 0) {
        const taken = takeAnswer(this.received, this.forHead);
        if (taken === undefined) return;
        this.received = taken.rest;
        this.answers.push(taken.answer);
        this.wake();
      }
    } catch (error) {
      this.failure = error as Error;
      this.received = Buffer.alloc(0);
      this.socket.destroy();
    }
  }
}

/** A connection may be closing after this idle time, in milliseconds. */
const IDLE_TIME_MS = 1_000;

interface Idle {
  readonly connection: ClientConnection;
  readonly since: number;
}

/** Sends requests byte for byte as given, each on a connection that no other request uses. */
export class HttpClient {
  private readonly idle: Idle[] = [];

  /** @param url the address of the program, which may change when it starts again */
  constructor(private readonly url: () => URL) {}

  /** Resolves with the answer; rejects if it is not HTTP. */
  readonly send = async (request: HttpRequest): Promise<HttpAnswer> => {
    const connection = this.take();
    try {
      const answer = await connection.ask(writeBytes(request), request.method === 'HEAD');
      if (answer.headers.connection === 'close') connection.destroy();
      else this.idle.push({ connection, since: Date.now() });
      return answer;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  };

  close(): void {
    for (const { connection } of this.idle.splice(0)) connection.destroy();
  }

  private take(): ClientConnection {
    for (let idle = this.idle.pop(); idle !== undefined; idle = this.idle.pop()) {
      const { connection, since } = idle;
      if (connection.isOpen && Date.now() - since <= IDLE_TIME_MS) return connection;
      connection.destroy();
    }
    const { hostname, port } = this.url();
    return new ClientConnection(Number(port), hostname);
  }
}

/** Sends bytes on a connection of their own, and resolves with the answers once it was closed. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<HttpAnswer[]> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  return listAnswers(await buffer(socket));
}
