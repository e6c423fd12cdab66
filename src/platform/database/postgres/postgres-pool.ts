import type { Pool } from 'pg';
import type { PooledSession, SessionPool } from '../batching/session.js';
import { PostgresSession } from './postgres-session.js';

/** A pool of connections beside TypeORM's, which its transactions cannot exhaust. */
export class PostgresPool implements SessionPool {
  constructor(
    private readonly pool: Pool,
    readonly size: number,
  ) {}

  /** @throws Error when no connection is free in time */
  async acquire(): Promise<PooledSession> {
    const client = await this.pool.connect();
    // An error event without a listener would end the program. The statements fail anyway.
    client.on('error', ignore);
    return new PostgresSession(client, (isBroken) => {
      client.off('error', ignore);
      client.release(isBroken);
    });
  }

  /** Closes the pool once all sessions are released. */
  async close(): Promise<void> {
    await this.pool.end();
  }
}

function ignore(): void {
  // See above.
}
