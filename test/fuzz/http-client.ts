import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type Answer, readAnswer } from './http-answer.js';
import { bytesOf, type HttpRequest } from './http-request.js';

/** How long an answer may take, in milliseconds. */
const ANSWER_TIME_MS = 15_000;
/** A connection that was idle for this long may be closing, in milliseconds. */
const IDLE_TIME = 1_000;

/** Sends one request and resolves with its answer; rejects when what comes back is not HTTP. */
export interface Transport {
  send(request: HttpRequest): Promise<Answer>;
  close(): void;
}

interface Waiting {
  readonly forHead: boolean;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: Error) => void;
}

/** A keep-alive connection on which requests go one by one, byte for byte as given. */
export class HttpClient implements Transport {
  private socket: Socket | undefined;
  private received: Buffer = Buffer.alloc(0);
  private waiting: Waiting | undefined;
  private lastUsed = 0;

  constructor(private readonly url: URL) {}

  async send(request: HttpRequest): Promise<Answer> {
    if (Date.now() - this.lastUsed > IDLE_TIME) this.close();
    const socket = (this.socket ??= this.open());
    const answer = new Promise<Answer>((resolve, reject) => {
      this.waiting = { forHead: request.method === 'HEAD', resolve, reject };
    });
    const [first, second] = bytesOf(request);
    if (first !== undefined) socket.write(first);
    if (second !== undefined) {
      await setImmediate();
      // An early answer may have ended the connection: the rest has nobody to read it.
      if (!socket.destroyed) socket.write(second);
    }
    return await answer;
  }

  close(): void {
    const socket = this.socket;
    this.socket = undefined;
    this.received = Buffer.alloc(0);
    socket?.destroy();
  }

  private open(): Socket {
    const socket = connect({ host: this.url.hostname, port: Number(this.url.port), noDelay: true });
    socket.setTimeout(ANSWER_TIME_MS, () => socket.destroy());
    socket.on('data', (data: Buffer) => {
      if (socket === this.socket) this.onData(data);
    });
    // What follows an error is a close.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (socket === this.socket) this.onClose();
    });
    return socket;
  }

  private onData(data: Buffer): void {
    this.received = this.received.length === 0 ? data : Buffer.concat([this.received, data]);
    this.tryAnswer(false);
  }

  private onClose(): void {
    this.tryAnswer(true);
    const waiting = this.waiting;
    this.waiting = undefined;
    this.close();
    waiting?.reject(new Error('the connection ended, or was silent too long, without an answer'));
  }

  private tryAnswer(ended: boolean): void {
    const waiting = this.waiting;
    if (waiting === undefined) return;
    try {
      const answer = readAnswer(this.received, waiting.forHead, ended);
      if (answer === undefined) return;
      this.waiting = undefined;
      this.received = Buffer.alloc(0);
      this.lastUsed = Date.now();
      if (answer.closes) this.close();
      waiting.resolve(answer);
    } catch (error) {
      this.waiting = undefined;
      this.close();
      waiting.reject(error as Error);
    }
  }
}
