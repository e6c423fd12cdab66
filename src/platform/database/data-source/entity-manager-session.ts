import type { EntityManager, QueryResult, QueryRunner } from 'typeorm';
import { atomically, type Session, type Statement, type Transaction } from '../batching/session.js';

/**
 * Makes a session in the transaction of a manager.
 *
 * @throws TypeError when the manager has none
 */
export function joinTransaction({ queryRunner }: EntityManager): Session {
  if (queryRunner?.isTransactionActive !== true) {
    throw new TypeError('This manager has no transaction: take the one that transaction() gives');
  }
  return new ManagerSession(queryRunner);
}

/** Statements inside a transaction of TypeORM. */
class ManagerSession implements Transaction {
  readonly isInTransaction = true;

  constructor(private readonly queryRunner: QueryRunner) {}

  async query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const result = (await this.queryRunner.query(
      prependLineFeed(text),
      [...parameters],
      true,
    )) as QueryResult<Row>;
    return result.records;
  }

  async run({ text }: Statement, parameters: readonly unknown[]): Promise<number> {
    const result = await this.queryRunner.query(text, [...parameters], true);
    return result.affected ?? 0;
  }

  async begin(): Promise<Transaction> {
    try {
      await this.queryRunner.startTransaction();
    } catch (error) {
      // A query runner expects this also after a transaction that did not begin.
      await this.queryRunner.rollbackTransaction().catch(() => undefined);
      throw error;
    }
    return this;
  }

  /** After an error, some engines refuse all statements until a rollback to a savepoint. */
  attempt<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return atomically(this, (part) => part.query<Row>(statement, parameters));
  }

  async commit(sent: readonly Promise<unknown>[] = []): Promise<void> {
    await Promise.all(sent);
    await this.queryRunner.commitTransaction();
  }

  async rollback(): Promise<void> {
    await this.queryRunner.rollbackTransaction();
  }
}

/**
 * TypeORM's driver for SQLite returns no rows for statements that begin with INSERT, UPDATE or
 * DELETE.
 */
export function prependLineFeed(sql: string): string {
  return `\n${sql}`;
}
