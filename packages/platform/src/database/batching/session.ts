import type { EntityManager, QueryResult, QueryRunner } from 'typeorm';
import { Sequence } from '../sequence.js';
import { StoreUnavailableError } from '../store-unavailable.error.js';

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

/** A session from a pool. Its transactions are made by SQL, which is the same on each engine. */
export abstract class PooledSession implements Session {
  readonly waitsForLocks = false;
  /** Whether a transaction could not be rolled back, so that it may still be open. */
  protected isBroken = false;
  /** How many transactions and savepoints are open. */
  private depth = 0;

  /**
   * @param begin the statement that begins a transaction
   * @param isPipelined whether statements may be sent without waiting for the answer to it
   */
  constructor(
    private readonly begin: string,
    private readonly isPipelined: boolean,
  ) {}

  get isInTransaction(): boolean {
    return this.depth > 0;
  }

  abstract query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]>;

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
      await this.rollBack(isNested, error);
      throw error;
    } finally {
      this.depth--;
    }
  }

  private async rollBack(isNested: boolean, cause: unknown): Promise<void> {
    try {
      await this.control(isNested ? 'ROLLBACK TO part; RELEASE part' : 'ROLLBACK');
    } catch {
      if (isNested) throw new TransactionLostError('A savepoint is gone', { cause });
      this.isBroken = true;
      throw new StoreUnavailableError(
        new Error('A transaction could not be rolled back', { cause }),
      );
    }
  }
}

/** The work of {@link joinTransaction} by query runner. */
const sequences = new WeakMap<QueryRunner, Sequence>();

/**
 * Executes work in the transaction of a manager, after the work that began before it there: the
 * savepoints of two pieces of work would otherwise undo each other's statements.
 *
 * @throws TypeError when the manager has no transaction
 */
export async function joinTransaction<Result>(
  { queryRunner }: EntityManager,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  if (queryRunner === undefined) throw new TypeError(NO_TRANSACTION);
  const sequence = sequences.get(queryRunner) ?? new Sequence();
  sequences.set(queryRunner, sequence);
  return await sequence.execute(async () => {
    if (!queryRunner.isTransactionActive) throw new TypeError(NO_TRANSACTION);
    return await work(new ManagerSession(queryRunner));
  });
}

const NO_TRANSACTION = 'This manager has no transaction: take the one that transaction() gives';

/** Statements inside a transaction of TypeORM. */
class ManagerSession implements Session {
  readonly isInTransaction = true;
  readonly waitsForLocks = true;

  constructor(private readonly queryRunner: QueryRunner) {}

  async query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const result = (await this.queryRunner.query(text, [...parameters], true)) as QueryResult<Row>;
    return result.records;
  }

  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    return await this.queryRunner.manager.transaction(work);
  }
}
