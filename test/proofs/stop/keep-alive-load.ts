import { setTimeout as sleep } from 'node:timers/promises';
import { ClientConnection } from '../../support/http/connection.js';

/** The longest pause between an answer and the next request of a client, in milliseconds. */
const LONGEST_PAUSE = 20;

/**
 * Keep-alive clients that send requests with short pauses. A client whose connection is closed
 * opens another, until nobody listens.
 */
export class KeepAliveLoad {
  answers = 0;
  /** The faults that clients have observed. */
  readonly faults: string[] = [];
  private readonly clients: Promise<void>[];

  /** @param request makes the bytes of a request that is answered 200 */
  constructor(
    private readonly port: number,
    clients: number,
    private readonly request: () => string,
  ) {
    this.clients = Array.from({ length: clients }, () => this.askUntilRefused());
  }

  /** Resolves when no client can connect. */
  async ended(): Promise<void> {
    await Promise.all(this.clients);
  }

  private async askUntilRefused(): Promise<void> {
    for (;;) {
      const connection = new ClientConnection(this.port);
      if (!(await connection.opened)) return;
      await this.askOn(connection);
    }
  }

  private async askOn(connection: ClientConnection): Promise<void> {
    for (;;) {
      await sleep(Math.random() * LONGEST_PAUSE);
      if (!connection.isOpen) return;
      await connection.write(this.request(), 1);
      const answer = await connection.next();
      if (answer === undefined) this.faults.push('a request got no answer');
      else if (answer.status !== 200) this.faults.push(`a request got ${answer.status}`);
      else this.answers++;
      if (answer?.headers.connection !== 'keep-alive') return;
    }
  }
}
