import type { PoolClient, QueryConfig, QueryResult } from 'pg';
import type { PooledSession, Session, Statement, Transaction } from '../batching/session.js';

/** How long it may take to connect, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 2_000;

/** After this time the server aborts a statement, in milliseconds. */
export const STATEMENT_TIMEOUT_MS = 4_000;

/** How much longer the program waits for the answer of the server, in milliseconds. */
export const ANSWER_MARGIN_MS = 500;

/**
 * How long a batch waits for the lock of another session, before the row fails alone, in
 * milliseconds.
 */
export const ROW_LOCK_TIMEOUT_MS = 100;

/** Statements on one connection to a PostgreSQL server. */
export class PostgresSession implements Session {
  readonly isInTransaction: boolean = false;

  constructor(protected readonly client: PoolClient) {}

  async query<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    const { rows } = await this.execute(statement, parameters);
    return rows as Row[];
  }

  async run(statement: Statement, parameters: readonly unknown[]): Promise<number> {
    const { rowCount } = await this.execute(statement, parameters);
    return rowCount ?? 0;
  }

  protected execute(statement: Statement, parameters: readonly unknown[]): Promise<QueryResult> {
    return this.client.query({
      ...limitTime(statement.text),
      ...statement,
      values: [...parameters],
    });
  }

  /** Does not wait for the answer to BEGIN: the first statement is sent with it. */
  begin(): Promise<Transaction> {
    return Promise.resolve(new PostgresTransaction(this.client, this.send('BEGIN'), 0));
  }

  attempt<Row>(statement: Statement, parameters: readonly unknown[]): Promise<Row[]> {
    return this.query<Row>(statement, parameters);
  }

  protected async send(text: string): Promise<string> {
    const { command } = await this.client.query(limitTime(text));
    return command;
  }
}

class PostgresTransaction extends PostgresSession implements Transaction {
  override readonly isInTransaction = true;

  /**
   * @param begun the answer to BEGIN or SAVEPOINT
   * @param depth how many transactions and savepoints enclose it
   */
  constructor(
    client: PoolClient,
    private readonly begun: Promise<unknown>,
    private readonly depth: number,
  ) {
    super(client);
    // The first statement reports the error.
    begun.catch(() => undefined);
  }

  protected override async execute(
    statement: Statement,
    parameters: readonly unknown[],
  ): Promise<QueryResult> {
    const result = super.execute(statement, parameters);
    const [begun] = await Promise.allSettled([this.begun, result]);
    if (begun.status === 'rejected') throw begun.reason;
    return await result;
  }

  override begin(): Promise<Transaction> {
    const depth = this.depth + 1;
    const begun = this.send(`SAVEPOINT part_${depth}`);
    return Promise.resolve(new PostgresTransaction(this.client, begun, depth));
  }

  /** After an error, the server refuses all statements until a rollback to a savepoint. */
  override async attempt<Row>(
    statement: Statement,
    parameters: readonly unknown[],
  ): Promise<Row[]> {
    const part = await this.begin();
    try {
      // A later savepoint of the same name hides this one. Releasing it would cost a round trip.
      return await part.query<Row>(statement, parameters);
    } catch (error) {
      await part.rollback();
      throw error;
    }
  }

  async commit(sent: readonly Promise<unknown>[] = []): Promise<void> {
    if (this.depth > 0) {
      await Promise.all(sent);
      await this.send(`RELEASE part_${this.depth}`);
      return;
    }
    const committed = this.send('COMMIT');
    await settleAll([...sent, committed]);
    // The server answers ROLLBACK to a COMMIT if a statement of the transaction has failed.
    if ((await committed) !== 'COMMIT') throw new Error('The transaction was rolled back');
  }

  async rollback(): Promise<void> {
    await this.send(this.depth > 0 ? `ROLLBACK TO part_${this.depth}` : 'ROLLBACK');
  }
}

/** Resolves once all promises are settled, so that no statement is running when one has failed. */
async function settleAll(promises: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(promises);
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** A session that its caller releases. */
export class PostgresPooledSession extends PostgresSession implements PooledSession {
  constructor(
    client: PoolClient,
    readonly release: (isBroken: boolean) => void,
  ) {
    super(client);
  }

  assertSameStore(): void {
    // The server confirms a commit only when it is stored.
  }
}

/**
 * Limits the wait for an answer: the server aborts a statement before, unless the connection is
 * dead.
 */
export function limitTime(text: string): QueryConfig & { query_timeout: number } {
  return { text, query_timeout: STATEMENT_TIMEOUT_MS + ANSWER_MARGIN_MS };
}
