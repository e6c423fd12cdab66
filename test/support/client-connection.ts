import { connect, type Socket } from 'node:net';
import { parseAnswer, type RawAnswer } from './raw-http.js';

/** A connection to the program that knows what has left for it and what came back. */
export class ClientConnection {
  /** How many requests the system has taken over, to their last byte. */
  sent = 0;
  readonly answers: RawAnswer[] = [];
  /** Resolves with whether there is somebody at the other end. */
  readonly opened: Promise<boolean>;
  readonly closed: Promise<unknown>;
  private readonly socket: Socket;
  private received = '';
  private seen = 0;
  private wake: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1' });
    this.socket.on('error', () => undefined);
    this.opened = new Promise((resolve) => {
      this.socket.on('connect', () => resolve(true)).on('close', () => resolve(false));
    });
    this.closed = new Promise((resolve) => this.socket.on('close', resolve));
    this.socket.on('close', () => this.wake());
    this.socket.on('data', (chunk: Buffer) => this.read(chunk.toString()));
  }

  get isOpen(): boolean {
    return this.socket.readyState === 'open';
  }

  /** Resolves once the system has taken the bytes over, or never will. */
  async write(bytes: string, requests = 0): Promise<void> {
    await new Promise<void>((resolve) => {
      this.socket.write(bytes, (error) => {
        if (!error) this.sent += requests;
        resolve();
      });
    });
  }

  /** Resolves with the next answer, or with undefined once the connection is closed. */
  async next(): Promise<RawAnswer | undefined> {
    const seen = (this.seen += 1);
    while (this.answers.length < seen && !this.socket.closed) {
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
    return this.answers[seen - 1];
  }

  /** Does not read what comes. */
  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  /** Sends these bytes and nothing more, but reads on. */
  end(bytes: string): void {
    this.socket.end(bytes);
  }

  /** Closes the connection. */
  destroy(): void {
    this.socket.destroy();
  }

  /** Leaves without a word. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  private read(text: string): void {
    this.received += text;
    while (this.received.includes('\r\n\r\n')) {
      const answer = parseAnswer(this.received);
      if (answer.body.length < Number(answer.headers['content-length'])) return;
      this.answers.push(answer);
      this.wake();
      this.received = answer.rest;
    }
  }
}
