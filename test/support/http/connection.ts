import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type HttpAnswer, listAnswers, takeAnswers } from './answer.js';

/** A connection to the program that records the answers. */
export class ClientConnection {
  /** The received answers. */
  readonly answers: HttpAnswer[] = [];
  /** Resolves with whether the connection was opened. */
  readonly opened: Promise<boolean>;
  readonly closed: Promise<void>;
  private readonly socket: Socket;
  private received: Buffer = Buffer.alloc(0);
  private seen = 0;
  private wake: () => void = () => undefined;

  constructor(port: number) {
    // A close event follows each error.
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => undefined);
    this.opened = new Promise((resolve) => {
      this.socket.on('connect', () => resolve(true)).on('close', () => resolve(false));
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.wake();
        resolve();
      });
    });
    this.socket.on('data', (data: Buffer) => {
      const { answers, rest } = takeAnswers(Buffer.concat([this.received, data]));
      this.received = rest;
      this.answers.push(...answers);
      this.wake();
    });
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
}

/** Sends bytes on a connection of their own, and resolves with the answers once it was closed. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<HttpAnswer[]> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  return listAnswers(await buffer(socket));
}
