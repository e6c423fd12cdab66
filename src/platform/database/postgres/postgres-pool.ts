import type { Pool } from 'pg';
import type { PooledSession, SessionPool } from '../batching/session.js';
import { PostgresPooledSession } from './postgres-session.js';

/** A pool of connections beside TypeORM's, which its transactions cannot exhaust. */
export class PostgresPool implements SessionPool {
  /** Callers wait here without a time limit. Inside the pool of the driver they would have one. */
  private readonly waiting: (() => void)[] = [];
  private free: number;

  constructor(
    private readonly pool: Pool,
    readonly size: number,
  ) {
    this.free = size;
  }

  async acquire(): Promise<PooledSession> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      const client = await this.pool.connect();
      // An error event without a listener would end the program. The statements fail anyway.
      client.on('error', ignore);
      return new PostgresPooledSession(client, (isBroken) => {
        client.off('error', ignore);
        client.release(isBroken);
        this.passOn();
      });
    } catch (error) {
      this.passOn();
      throw error;
    }
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
