import type { Pool } from 'pg';
import type { PooledSession, SessionPool } from '../batching/session.js';
import { PostgresPooledSession } from './postgres-session.js';

/** Connections beside those of TypeORM, which its transactions cannot use up. */
export class PostgresPool implements SessionPool {
  /** Borrowers that wait here have no time limit; one that waited inside the driver's pool would have. */
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
      // A connection that breaks fails its statements too; an event that nobody hears ends the program.
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
