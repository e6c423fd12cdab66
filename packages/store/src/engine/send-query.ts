import { type QueryResult, type QueryRunner, TypeORMError } from 'typeorm';
import { BroadcasterResult } from 'typeorm/subscriber/BroadcasterResult.js';

/** A statement of a module would begin or end a transaction, of which TypeORM would not know. */
export class TransactionControlError extends TypeORMError {
  constructor() {
    super(
      'A transaction is begun and ended by dataSource.transaction() or by the methods of a query runner, not by a statement',
    );
  }
}

/**
 * Distinguishes the statements by which TypeORM begins and ends transactions from the statements of
 * modules.
 */
export class TransactionControl {
  /** How many methods of the query runner are beginning or ending a transaction. */
  private calls = 0;

  /** @param method of TypeORM's query runner, which sends the statement */
  async allow(method: () => Promise<void>): Promise<void> {
    this.calls++;
    await method().finally(() => this.calls--);
  }

  /** @throws TransactionControlError for a statement of a module */
  assertAllowed(): void {
    if (this.calls === 0) throw new TransactionControlError();
  }
}

/**
 * Sends a statement as TypeORM's own query runners do: it is logged, and subscribers are called
 * before and after it. Subscribers run before the statement waits for others, so that they can use
 * the query runner too.
 *
 * @param send sends the statement, and explains errors
 */
export async function sendQuery(
  queryRunner: QueryRunner,
  sql: string,
  parameters: unknown[] | undefined,
  send: () => Promise<QueryResult>,
): Promise<QueryResult> {
  const { broadcaster } = queryRunner;
  const { logger, options } = queryRunner.connection;
  const { maxQueryExecutionTime = 0 } = options;
  logger.logQuery(sql, parameters, queryRunner);
  await broadcaster.broadcast('BeforeQuery', sql, parameters);
  const after = new BroadcasterResult();
  const broadcastEnd = (duration?: number, raw?: unknown, error?: unknown): void => {
    const isSuccess = duration !== undefined;
    broadcaster.broadcastAfterQueryEvent(after, sql, parameters, isSuccess, duration, raw, error);
  };
  const began = Date.now();
  try {
    const result = await send();
    const duration = Date.now() - began;
    broadcastEnd(duration, result.raw);
    if (maxQueryExecutionTime > 0 && duration > maxQueryExecutionTime) {
      logger.logQuerySlow(duration, sql, parameters, queryRunner);
    }
    return result;
  } catch (error) {
    logger.logQueryError(error as Error, sql, parameters, queryRunner);
    broadcastEnd(undefined, undefined, error);
    throw error;
  } finally {
    await after.wait();
  }
}
