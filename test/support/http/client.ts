import type { HttpAnswer } from './answer.js';
import { ClientConnection } from './connection.js';
import { type HttpRequest, writeBytes } from './request.js';

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
