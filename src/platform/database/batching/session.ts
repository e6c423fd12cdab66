/** A statement. Under a name it stays prepared on each connection of an engine that asks for names. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The reason why a statement failed: a row in it, a lock that another session holds, or the store. */
export type FailureCause = 'row' | 'lock' | 'store';

/** A connection on which statements run one after another. */
export interface Session {
  /** Whether statements are part of a transaction; otherwise each is a commit of its own. */
  readonly isInTransaction: boolean;

  /** The rows that a statement gives. */
  query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]>;

  /** Executes a statement that writes rows, and resolves with how many it has written. */
  run(statement: Statement, parameters: readonly unknown[]): Promise<number>;

  /** Begins a transaction, or a part of the one under way that can be undone alone. */
  begin(): Promise<Transaction>;

  /** Like {@link query}, but a failing statement leaves the transaction usable. */
  attempt<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]>;
}

/** A transaction, or a part of one. */
export interface Transaction extends Session {
  /**
   * Commits once these statements have succeeded; where one has failed, nothing is committed.
   *
   * @throws the error of the statement
   */
  commit(sent?: readonly Promise<unknown>[]): Promise<void>;
  rollback(): Promise<void>;
}

/** A session that was taken from a pool. */
export interface PooledSession extends Session {
  /** @throws StoreUnavailableError when what was written went to a file that is no longer the store */
  assertSameStore(): void;

  /** @param isBroken whether nobody may use the connection again as it is */
  release(isBroken: boolean): void;
}

/** The connections for one kind of work. */
export interface SessionPool {
  /** How many sessions may be in use at the same time. */
  readonly size: number;

  /** Resolves once a session is free; a pool that writes waits for its turn to write, too. */
  acquire(): Promise<PooledSession>;
}

/** Does work that is stored as a whole or not at all. */
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
    // The engine may have rolled back already, or the connection is gone: the first error says why.
    await transaction.rollback().catch(() => undefined);
    throw error;
  }
}
