import type { PoolClient, QueryConfig } from 'pg';
import { SqlSession, type Statement } from '../batching/session.js';

/** How long it may take to connect, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 2_000;

/** After this time the server aborts a statement, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 4_000;

/** How much longer the program waits for the answer of the server, in milliseconds. */
export const ANSWER_MARGIN_MS = 500;

/**
 * How long a batch waits for a key that another session has inserted but not committed, in
 * milliseconds. The row is then tried again later.
 */
export const ROW_LOCK_TIMEOUT_MS = 20;

/** Statements on one connection to a PostgreSQL server. */
export class PostgresSession extends SqlSession {
  /** @param giveBack gives the connection back to its pool, which closes it if it is broken */
  constructor(
    private readonly client: PoolClient,
    private readonly giveBack: (isBroken: boolean) => void,
  ) {
    super('BEGIN', true);
  }

  async query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const { rows } = await this.client.query({
      ...limitTime(statement.text),
      ...statement,
      values: [...parameters],
    });
    return rows as Row[];
  }

  protected async control(sql: string): Promise<void> {
    const { command } = await this.client.query(limitTime(sql));
    // The server answers ROLLBACK to a COMMIT if a statement of the transaction has failed.
    if (sql === 'COMMIT' && command !== 'COMMIT')
      throw new Error('The transaction was rolled back');
  }

  assertSameStore(): void {
    // The server confirms a commit only when it is stored.
  }

  release(hasFailed: boolean): Promise<void> {
    this.giveBack(hasFailed || this.isBroken);
    return Promise.resolve();
  }
}

/**
 * Limits the wait for an answer: the server aborts a statement before, unless the connection is
 * dead.
 */
export function limitTime(text: string): QueryConfig & { query_timeout: number } {
  return { text, query_timeout: STATEMENT_TIMEOUT_MS + ANSWER_MARGIN_MS };
}
