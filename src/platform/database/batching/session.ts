import type { EntityManager, QueryResult, QueryRunner } from 'typeorm';

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
  transaction<Result>(work: (within: Session) => Promise<Result>): Promise<Result>;
}

/** The connections for one kind of work. */
export interface SessionPool {
  /** How many sessions may be in use at the same time. */
  readonly size: number;

  /** Resolves once a session is free. A pool for writes also waits for the right to write. */
  acquire(): Promise<PooledSession>;
}

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

  async transaction<Result>(work: (within: Session) => Promise<Result>): Promise<Result> {
    const isNested = this.isInTransaction;
    const begun = this.control(isNested ? 'SAVEPOINT part' : this.begin);
    if (this.isPipelined) begun.catch(() => undefined);
    else await begun;
    this.depth++;
    try {
      const result = await work(this);
      await begun;
      await this.control(isNested ? 'RELEASE part' : 'COMMIT');
      return result;
    } catch (error) {
      await this.control(isNested ? 'ROLLBACK TO part; RELEASE part' : 'ROLLBACK').catch(() => {
        this.isBroken = true;
        throw new Error('A transaction could not be rolled back', { cause: error });
      });
      throw error;
    } finally {
      this.depth--;
    }
  }
}

/**
 * Makes a session in the transaction of a manager.
 *
 * @throws TypeError when the manager has none
 */
export function joinTransaction(manager: EntityManager): Session {
  if (manager.queryRunner?.isTransactionActive !== true) {
    throw new TypeError('This manager has no transaction: take the one that transaction() gives');
  }
  return new ManagerSession(manager, manager.queryRunner);
}

/** Statements inside a transaction of TypeORM. */
class ManagerSession implements Session {
  readonly isInTransaction = true;
  readonly waitsForLocks = true;

  constructor(
    private readonly manager: EntityManager,
    private readonly queryRunner: QueryRunner,
  ) {}

  async query<Row>({ text }: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    // One of TypeORM's drivers gives no rows of statements that begin with INSERT, UPDATE or DELETE.
    const sql = `\n${text}`;
    const result = (await this.queryRunner.query(sql, [...parameters], true)) as QueryResult<Row>;
    return result.records;
  }

  async transaction<Result>(work: (within: Session) => Promise<Result>): Promise<Result> {
    return await this.manager.transaction(() => work(this));
  }
}
