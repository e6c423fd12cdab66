import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type HttpAnswer, listAnswers, takeAnswers } from './answer.js';

/** Opens a connection whose errors do not matter: a close event follows each. */
export function openSocket(port: number): Socket {
  return connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
}

/** Finds out whether somebody listens on a port of this machine. */
export async function isListening(port: number): Promise<boolean> {
  const socket = openSocket(port);
  const isOpened = await new Promise<boolean>((resolve) => {
    socket.on('connect', () => resolve(true)).on('close', () => resolve(false));
  });
  socket.resetAndDestroy();
  return isOpened;
}

/** A connection to the program that records the answers. */
export class ClientConnection {
  /** The received answers. */
  readonly answers: HttpAnswer[] = [];
  readonly closed: Promise<void>;
  readonly socket: Socket;
  private received: Buffer = Buffer.alloc(0);
  private seen = 0;
  private wake: () => void = () => undefined;

  constructor(port: number) {
    this.socket = openSocket(port).setNoDelay();
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
}

/** Sends bytes on a connection of their own, and resolves with the answers once it was closed. */
export async function exchange(port: number, bytes: string | Uint8Array): Promise<HttpAnswer[]> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  return listAnswers(await buffer(socket));
}
