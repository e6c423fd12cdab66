import type { EntityManager, QueryRunner } from 'typeorm';
import { StoreUnavailableError } from '../errors/store.errors.js';

/** A statement. Engines that use names keep it prepared under its name on each connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** A connection on which statements run one after another. */
export interface Session {
  /** Whether statements are part of a transaction; otherwise each statement commits on its own. */
  readonly isInTransaction: boolean;

  /** Whether statements wait for rows that others have locked, as a module's transaction does. */
  readonly waitsForLocks: boolean;

  /** Executes a statement, and resolves with its rows. */
  query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]>;

  /**
   * Executes work in a transaction, or inside one in a savepoint: it is stored as a whole or not at
   * all.
   */
  transaction<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** The connections for one kind of work. */
export interface SessionPool {
  /** How many sessions may be in use at the same time. */
  readonly size: number;

  /** Resolves once a session is free. A pool for writes also waits for the right to write. */
  acquire(): Promise<PooledSession>;
}

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
export abstract class PooledSession extends SqlSession {
  readonly waitsForLocks = false;

  constructor(begin: string, isPipelined: boolean) {
    super(begin, isPipelined, 0);
  }

  /** @throws StoreUnavailableError when the rows went to a file that is no longer the store */
  assertSameStore(): void {
    // A server confirms a commit only when it is stored.
  }

  /**
   * Gives the session back to its pool. A broken connection is replaced first.
   *
   * @param hasFailed whether the store has failed, so that the connection may be broken
   */
  abstract release(hasFailed: boolean): Promise<void>;
}

/** Sends a statement, and resolves with its rows. */
export type Send = (sql: string, parameters: readonly unknown[]) => Promise<unknown[]>;

/** A query runner in whose transaction a repository can work. */
export interface Joinable {
  /**
   * Executes work in the open transaction. Other statements of the query runner are sent before it
   * or after it: a savepoint of the work that is rolled back would undo those in between. So the
   * work must only wait for its own statements, and subscribers do not hear of these.
   *
   * @throws TypeError when no transaction is open
   */
  join<Result>(work: (send: Send) => Promise<Result>): Promise<Result>;
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
  const runner = queryRunner as QueryRunner & Joinable;
  return await runner.join((send) => work(new JoinedSession(send)));
}

/** A manager without a transaction was given to a repository. */
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
