import type { EntityManager } from 'typeorm';
import { StoreUnavailableError } from '../errors/store.errors.js';
import type { PooledSession, Send, Session, Statement, StoreQueryRunner } from './engine.js';

/** The transaction of a session has ended before its work did, since a trigger has rolled it back. */
export class TransactionLostError extends Error {}

/** A session whose transactions and savepoints are made by SQL, which is the same on each engine. */
abstract class SqlSession implements Session {
  abstract readonly waitsForLocks: boolean;
  /** Whether a transaction could not be rolled back, so that it may still be open. */
  protected isBroken = false;

  /**
   * @param begin the statement that begins a transaction
   * @param isPipelined whether statements may be sent without waiting for the answer to it
   * @param depth how many transactions and savepoints are open
   */
  constructor(
    private readonly begin: string,
    private readonly isPipelined: boolean,
    private depth: number,
  ) {}

  get isInTransaction(): boolean {
    return this.depth > 0;
  }

  abstract query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]>;

  /**
   * Executes a statement that begins or ends a transaction.
   *
   * @throws Error also when the engine rolls back instead of committing
   */
  protected abstract control(sql: string): Promise<void>;

  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    const isNested = this.isInTransaction;
    const begun = this.control(isNested ? 'SAVEPOINT part' : this.begin);
    // A pipelined BEGIN is sent with the first statement, and awaited before the commit.
    if (this.isPipelined) begun.catch(() => undefined);
    else await begun;
    this.depth++;
    try {
      const result = await work();
      await begun;
      await this.control(isNested ? 'RELEASE part' : 'COMMIT');
      return result;
    } catch (error) {
      await (isNested ? this.rollBackSavepoint(error) : this.rollBack(error));
      throw error;
    } finally {
      this.depth--;
    }
  }

  private async rollBackSavepoint(cause: unknown): Promise<void> {
    try {
      await this.control('ROLLBACK TO part');
      await this.control('RELEASE part');
    } catch {
      if (cause instanceof StoreUnavailableError) throw cause;
      throw new TransactionLostError('A savepoint is gone', { cause });
    }
  }

  private async rollBack(cause: unknown): Promise<void> {
    try {
      await this.control('ROLLBACK');
    } catch {
      this.isBroken = true;
      throw new StoreUnavailableError(
        new Error('A transaction could not be rolled back', { cause }),
      );
    }
  }
}

/** A session from a pool. */
export abstract class PooledSqlSession extends SqlSession implements PooledSession {
  readonly waitsForLocks = false;

  constructor(begin: string, isPipelined: boolean) {
    super(begin, isPipelined, 0);
  }

  assertSameStore(): void {
    // A server confirms a commit only when it is stored.
  }

  abstract release(hasFailed: boolean): Promise<void>;
}

/**
 * Executes work in the transaction of a manager.
 *
 * @throws TypeError when the manager has no transaction
 */
export async function joinTransaction<Result>(
  { queryRunner }: EntityManager,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  if (queryRunner === undefined) throw new NoTransactionError();
  const runner = queryRunner as StoreQueryRunner;
  return await runner.join((send) => work(new JoinedSession(send)));
}

/** A repository was called with a manager that has no transaction. */
export class NoTransactionError extends TypeError {
  constructor() {
    super('This manager has no transaction: take the one that transaction() gives');
  }
}

/** Statements inside a transaction of TypeORM. */
class JoinedSession extends SqlSession {
  readonly waitsForLocks = true;

  constructor(private readonly send: Send) {
    super('BEGIN', false, 1);
  }

  async query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return (await this.send(text, parameters)) as Row[];
  }

  protected async control(sql: string): Promise<void> {
    await this.send(sql, []);
  }
}
