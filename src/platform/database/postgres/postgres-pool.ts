import type { Pool, PoolClient } from 'pg';
import type { PooledSession, SessionPool } from '../batching/session.js';
import { limitTime, PostgresSession } from './postgres-session.js';

const WAITING_FOR_STANDBY = `SELECT pid FROM pg_stat_activity
  WHERE pid = ANY ($1) AND wait_event = 'SyncRep'`;

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

  constructor(
    private readonly pool: Pool,
    readonly size: number,
  ) {
    this.free = size;
  }

  async acquire(): Promise<PooledSession> {
    await this.takePlace();
    try {
      const client = (await this.pool.connect()) as PoolClient & { readonly processID: number };
      // An error event without a listener would end the program. The statements fail anyway.
      client.on('error', ignore);
      await this.limitAbandoned(client).catch((error: unknown) => {
        client.off('error', ignore).release();
        throw error;
      });
      return new PostgresSession(client, (isBroken) => {
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

  /** @throws Error when too many server processes of broken connections wait for a standby */
  private async limitAbandoned(client: PoolClient): Promise<void> {
    const processes = this.abandoned;
    if (processes.length < 2 * this.size) return;
    const { rows } = await client.query<{ pid: number }>({
      ...limitTime(WAITING_FOR_STANDBY),
      values: [processes],
    });
    const waiting = new Set(rows.map(({ pid }) => pid));
    this.abandoned = this.abandoned.filter((one) => !processes.includes(one) || waiting.has(one));
    if (this.abandoned.length < 2 * this.size) return;
    throw new Error('The commits of broken connections wait for a synchronous standby');
  }

  /**
   * Closes the pool once all sessions are released. Later calls of acquire() wait for ever.
   */
  async close(): Promise<void> {
    await Promise.all(Array.from({ length: this.size }, () => this.takePlace()));
    await this.pool.end();
  }

  private async takePlace(): Promise<void> {
    if (this.free > 0) this.free--;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
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
