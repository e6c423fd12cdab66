import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import { SqlSession, type Statement } from '../batching/session.js';
import type { SqliteConnection } from './sqlite-connection.js';

/** Statements on one connection to a SQLite database. */
export class SqliteSession extends SqlSession {
  /** @param giveBack ends the turn; a broken connection is replaced first */
  constructor(
    protected readonly connection: SqliteConnection,
    readonly assertSameStore: () => void,
    private readonly giveBack: (isBroken: boolean) => Promise<void> | void,
  ) {
    // After a failed BEGIN, the statements behind it would commit one by one.
    super('BEGIN IMMEDIATE', false);
  }

  query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return this.connection.all<Row>(text, parameters);
  }

  protected control(sql: string): Promise<void> {
    return this.connection.exec(sql);
  }

  async release(): Promise<void> {
    await this.giveBack(this.isBroken);
  }
}

/** A session that only reads. It aborts a statement whose requests have got 503 meanwhile. */
export class SqliteReadingSession extends SqliteSession {
  override async query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    // More than once, since an interrupt has no effect before the statement has begun.
    const timer = setInterval(() => this.connection.interrupt(), WAIT_TIMEOUT_MS);
    try {
      return await super.query<Row>(statement, parameters);
    } finally {
      clearInterval(timer);
    }
  }
}
