import type { Pool, PoolClient } from 'pg';
import type { PooledSession, SessionPool } from '../batching/session.js';
import { PostgresPooledSession } from './postgres-session.js';

/**
 * A pool of connections beside TypeORM's, which its transactions cannot exhaust.
 *
 * The server process of a connection that was closed may live on: while a commit waits for a
 * synchronous standby, it does not notice the end of its connection. The pool opens no further
 * connections beside too many of these, since the server would have none left for others.
 */
export class PostgresPool implements SessionPool {
  /** Callers wait here without a time limit. Inside the pool of the driver they would have one. */
  private readonly waiting: (() => void)[] = [];
  private free: number;
  /** The server processes of connections that broke, and may live on. */
  private abandoned: readonly number[] = [];

  /** @param findAlive resolves with those of the server processes that still exist */
  constructor(
    private readonly pool: Pool,
    readonly size: number,
    private readonly findAlive: (processes: readonly number[]) => Promise<readonly number[]>,
  ) {
    this.free = size;
  }

  async acquire(): Promise<PooledSession> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      await this.limitAbandoned();
      const client = (await this.pool.connect()) as PoolClient & { readonly processID: number };
      // An error event without a listener would end the program. The statements fail anyway.
      client.on('error', ignore);
      return new PostgresPooledSession(client, (isBroken) => {
        client.off('error', ignore);
        if (isBroken) this.abandoned = [...this.abandoned, client.processID];
        client.release(isBroken);
        this.passOn();
      });
    } catch (error) {
      this.passOn();
      throw error;
    }
  }

  private async limitAbandoned(): Promise<void> {
    if (this.abandoned.length < 2 * this.size) return;
    this.abandoned = await this.findAlive(this.abandoned);
    if (this.abandoned.length < 2 * this.size) return;
    throw new Error('Commits wait on the server, perhaps for a synchronous standby');
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  private passOn(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free++;
    else next();
  }
}

function ignore(): void {
  // See above.
}
