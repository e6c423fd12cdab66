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
    const words = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'] as const;
    await this.connection.exec(words[0]);
    return new SqliteTransaction(this.connection, words);
  }

  /** SQLite undoes a statement that fails, and nothing else. */
  attempt<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return this.query<Row>(statement, parameters);
  }
}

class SqliteTransaction extends SqliteSession implements Transaction {
  override readonly isInTransaction = true;

  constructor(
    connection: SqliteConnection,
    private readonly words: readonly [begin: string, commit: string, rollback: string],
  ) {
    super(connection);
  }

  override async begin(): Promise<Transaction> {
    const words = ['SAVEPOINT part', 'RELEASE part', 'ROLLBACK TO part; RELEASE part'] as const;
    await this.connection.exec(words[0]);
    return new SqliteTransaction(this.connection, words);
  }

  async commit(sent: readonly Promise<unknown>[] = []): Promise<void> {
    // A statement that has failed does not keep SQLite from committing the others.
    await Promise.all(sent);
    await this.connection.exec(this.words[1]);
  }

  async rollback(): Promise<void> {
    await this.connection.exec(this.words[2]);
  }
}

/** A session that its borrower gives back. */
export class SqlitePooledSession extends SqliteSession implements PooledSession {
  constructor(
    connection: SqliteConnection,
    readonly assertStored: () => void,
    private readonly releaseLock: () => void,
  ) {
    super(connection);
  }

  release(isBroken: boolean): void {
    // The connection stays in use. What follows would be part of a transaction that could not be ended.
    if (isBroken) void this.connection.exec('ROLLBACK').catch(() => undefined);
    this.releaseLock();
  }
}
