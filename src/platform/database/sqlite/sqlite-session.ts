import { WAIT_TIMEOUT_MS } from '../../config/env.js';
import type { PooledSession, Session, Statement, Transaction } from '../batching/session.js';
import type { SqliteConnection } from './sqlite-connection.js';

/** Statements on one connection to a SQLite database. */
export class SqliteSession implements Session {
  readonly isInTransaction: boolean = false;

  constructor(protected readonly connection: SqliteConnection) {}

  query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return this.connection.all<Row>(text, parameters);
  }

  run({ text }: Statement, parameters: readonly unknown[]): Promise<number> {
    return this.connection.run(text, parameters);
  }

  async begin(): Promise<Transaction> {
    await this.connection.exec('BEGIN IMMEDIATE');
    return new SqliteTransaction(this.connection, { commit: 'COMMIT', rollback: 'ROLLBACK' });
  }

  /** SQLite undoes only the failing statement. */
  attempt<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return this.query<Row>(statement, parameters);
  }
}

class SqliteTransaction extends SqliteSession implements Transaction {
  override readonly isInTransaction = true;

  constructor(
    connection: SqliteConnection,
    private readonly sql: { readonly commit: string; readonly rollback: string },
  ) {
    super(connection);
  }

  override async begin(): Promise<Transaction> {
    await this.connection.exec('SAVEPOINT part');
    const sql = { commit: 'RELEASE part', rollback: 'ROLLBACK TO part; RELEASE part' };
    return new SqliteTransaction(this.connection, sql);
  }

  async commit(sent: readonly Promise<unknown>[] = []): Promise<void> {
    // SQLite would commit the others even if one has failed.
    await Promise.all(sent);
    await this.connection.exec(this.sql.commit);
  }

  async rollback(): Promise<void> {
    await this.connection.exec(this.sql.rollback);
  }
}

/** A session that its caller releases. */
export class SqlitePooledSession extends SqliteSession implements PooledSession {
  /** @param release passes the connection on; a transaction may be open on a broken one */
  constructor(
    connection: SqliteConnection,
    readonly assertSameStore: () => void,
    readonly release: (isBroken: boolean) => void,
  ) {
    super(connection);
  }
}

/** A session that only reads. It aborts a statement whose requests have got 503 meanwhile. */
export class SqliteReadingSession extends SqlitePooledSession {
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
