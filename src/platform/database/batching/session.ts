/** A statement. Engines that use names keep it prepared under its name on each connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The cause of a failed statement: one of its rows, a lock of another session, or the store. */
export type FailureCause = 'row' | 'lock' | 'store';

/** A connection on which statements run one after another. */
export interface Session {
  /** Whether statements are part of a transaction; otherwise each statement commits on its own. */
  readonly isInTransaction: boolean;

  /** Executes a statement, and resolves with its rows. */
  query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]>;

  /** Executes a statement that writes rows, and resolves with their number. */
  run(statement: Statement, parameters: readonly unknown[]): Promise<number>;

  /** Begins a transaction, or inside one a savepoint. */
  begin(): Promise<Transaction>;

  /** Like {@link query}, but a failing statement leaves the transaction usable. */
  attempt<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]>;
}

/** A transaction or a savepoint. */
export interface Transaction extends Session {
  /**
   * Commits once these statements have succeeded. If one has failed, nothing is committed.
   *
   * @throws the error of the statement
   */
  commit(sent?: readonly Promise<unknown>[]): Promise<void>;
  rollback(): Promise<void>;
}

/** A session from a pool. */
export interface PooledSession extends Session {
  /** @throws StoreUnavailableError when the rows went to a file that is no longer the store */
  assertSameStore(): void;

  /** @param isBroken whether the connection must not be used again as it is */
  release(isBroken: boolean): void;
}

/** The connections for one kind of work. */
export interface SessionPool {
  /** How many sessions may be in use at the same time. */
  readonly size: number;

  /** Resolves once a session is free. A pool for writes also waits for the right to write. */
  acquire(): Promise<PooledSession>;
}

/** Executes work in a transaction: it is stored as a whole or not at all. */
export async function atomically<Result>(
  session: Session,
  work: (transaction: Session) => Promise<Result>,
): Promise<Result> {
  const transaction = await session.begin();
  try {
    const result = await work(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    // The engine may have rolled back already, or the connection may be lost. The first error tells
    // why.
    await transaction.rollback().catch(() => undefined);
    throw error;
  }
}
