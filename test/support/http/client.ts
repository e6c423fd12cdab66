import type { HttpAnswer } from './answer.js';
import { ClientConnection } from './connection.js';
import { writeBytes, type HttpRequest } from './request.js';

/** A connection may be closing after this idle time, in milliseconds. */
const IDLE_TIME_MS = 1_000;

/** Sends one request and resolves with its answer; rejects if the answer is not HTTP. */
export interface Transport {
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

/** Sends requests one by one, byte for byte as given, on a connection that is kept while it can be. */
export class HttpClient implements Transport {
  private connection: ClientConnection | undefined;
  private lastUsed = 0;

  constructor(private readonly url: URL) {}

  async send(request: HttpRequest): Promise<HttpAnswer> {
    if (Date.now() - this.lastUsed > IDLE_TIME_MS || this.connection?.isOpen === false)
      this.close();
    const { hostname, port } = this.url;
    const connection = (this.connection ??= new ClientConnection(Number(port), hostname));
    try {
      const answer = await connection.ask(writeBytes(request), request.method === 'HEAD');
      this.lastUsed = Date.now();
      if (answer.closes) this.close();
      return answer;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    this.connection?.destroy();
    this.connection = undefined;
  }
}
