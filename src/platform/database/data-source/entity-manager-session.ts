import type { EntityManager, QueryResult, QueryRunner } from 'typeorm';
import type { Session, Statement } from '../batching/session.js';

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
class ManagerSession implements Session {
  readonly isInTransaction = true;
  readonly waitsForLocks = true;

  constructor(private readonly queryRunner: QueryRunner) {}

  async query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const sql = prependLineFeed(text);
    const result = (await this.queryRunner.query(sql, [...parameters], true)) as QueryResult<Row>;
    return result.records;
  }

  async transaction<Result>(work: (within: Session) => Promise<Result>): Promise<Result> {
    try {
      await this.queryRunner.startTransaction();
      const result = await work(this);
      await this.queryRunner.commitTransaction();
      return result;
    } catch (error) {
      // A query runner expects this also after a transaction that did not begin.
      await this.queryRunner.rollbackTransaction().catch(() => undefined);
      throw error;
    }
  }
}

/**
 * TypeORM's driver for SQLite returns no rows for statements that begin with INSERT, UPDATE or
 * DELETE.
 */
export function prependLineFeed(sql: string): string {
  return `\n${sql}`;
}
