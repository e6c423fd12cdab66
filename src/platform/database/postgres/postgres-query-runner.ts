import type { Client } from 'pg';
import { TypeORMError } from 'typeorm';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import type { ReplicationMode } from 'typeorm/driver/types/ReplicationMode.js';
import { explainFailure, getErrorCode } from '../data-source/driver-errors.js';
import type { StoreExtra, TimeLimited } from '../data-source/store-data-source.js';
import { TransactionTimer } from '../data-source/transaction-timer.js';
import { StoreUnavailableError } from '../store-unavailable.error.js';
import { ANSWER_MARGIN_MS, SET_TIME_LIMITS, STATEMENT_TIMEOUT_MS } from './postgres-connections.js';
import { postgresErrors } from './postgres-errors.js';

// Everything that depends on internals of TypeORM's PostgreSQL driver.
// test/postgres/driver.e2e-spec.ts fails if an upgrade changes them.

/** TypeORM's driver, with the query runner of this project. */
export class StorePostgresDriver extends PostgresDriver {
  override createQueryRunner(mode: ReplicationMode): StorePostgresQueryRunner {
    return new StorePostgresQueryRunner(this, mode);
  }
}

/** The statements by which TypeORM begins and ends a transaction. */
const [BEGIN, COMMIT] = ['START TRANSACTION', 'COMMIT'];
/**
 * If one of these fails, TypeORM no longer knows which transaction is open. It can still roll back
 * to a savepoint that could not be released.
 */
const CONTROLS = /^(?:START TRANSACTION|SAVEPOINT|ROLLBACK|COMMIT)\b/;
/** The code of every statement after a failed one, whose error the module has caught. */
const IN_FAILED_TRANSACTION = '25P02';

/**
 * TypeORM's query runner with time limits. Its statements run one after another. A runner that has
 * lost its transaction refuses everything until it is released, and then closes its connection.
 */
export class StorePostgresQueryRunner extends PostgresQueryRunner implements TimeLimited {
  /** Settles when all statements so far have been answered. */
  private last: Promise<unknown> = Promise.resolve();
  private timer: TransactionTimer | undefined;
  private statementLimit: number | undefined = STATEMENT_TIMEOUT_MS;
  private transactionLimit = (this.driver.options.extra as StoreExtra).transactionTimeoutMs;
  /** Whether the connection has other time limits than those of the pool, or may be broken. */
  private mustClose = false;
  /** Why the transaction was lost. */
  private lost: Error | undefined;

  async setTimeLimit(limit: number | undefined): Promise<void> {
    this.mustClose = true;
    const limits = limit === undefined ? [0, 0] : [limit, limit + ANSWER_MARGIN_MS];
    await this.query(`SELECT ${SET_TIME_LIMITS}`, limits.map(String));
    this.statementLimit = limit;
    this.transactionLimit = limit;
  }

  override async query(
    sql: string,
    parameters?: unknown[],
    isStructured?: boolean,
  ): ReturnType<PostgresQueryRunner['query']> {
    const result = this.last.then(() => this.execute(sql, parameters, isStructured));
    this.last = result.catch(() => undefined);
    return await result;
  }

  override async startTransaction(isolation?: IsolationLevel): Promise<void> {
    // Before any await, so that its stack shows the caller.
    if (this.transactionDepth === 0) this.timer = new TransactionTimer();
    await super.startTransaction(isolation);
  }

  override async release(): Promise<void> {
    this.timer?.stop();
    await this.last;
    if (this.lost !== undefined || this.mustClose || this.isTransactionActive) {
      this.releaseCallback?.(this.lost ?? new Error('The connection is not used again'));
      Object.assign(this, { releaseCallback: undefined });
    }
    await super.release();
  }

  /** Migrations have no time limit. */
  override async beforeMigration(): Promise<void> {
    await this.setTimeLimit(undefined);
    await super.beforeMigration();
  }

  private async execute(
    sql: string,
    parameters?: unknown[],
    isStructured?: boolean,
  ): Promise<unknown> {
    if (this.lost !== undefined) throw this.lost;
    const answerTimer = this.limitAnswerTime();
    try {
      await this.connect();
      if (sql === BEGIN) this.timer?.start(this.transactionLimit, (error) => this.lose(error));
      if (sql === COMMIT || sql === 'ROLLBACK') this.timer?.stop();
      if (sql === COMMIT) return await this.sendCommit();
      return (await super.query(sql, parameters, isStructured)) as unknown;
    } catch (error) {
      const failure = this.explain(error, sql);
      // The pool learns later that the server has closed a connection.
      if (failure instanceof StoreUnavailableError) this.mustClose = true;
      if (CONTROLS.test(sql) && !sql.startsWith('ROLLBACK TO')) this.lost ??= failure;
      throw this.lost ?? failure;
    } finally {
      clearTimeout(answerTimer);
    }
  }

  /**
   * Sends COMMIT. TypeORM ignores the answer, which is ROLLBACK if a statement of the transaction has
   * failed.
   */
  private async sendCommit(): Promise<unknown[]> {
    const client = (await this.connect()) as Client;
    this.connection.logger.logQuery(COMMIT, [], this);
    const { command, rows } = await client.query<object>(COMMIT);
    if (command !== COMMIT) throw Object.assign(new Error(), { code: IN_FAILED_TRANSACTION });
    return rows;
  }

  private explain(error: unknown, sql: string): Error {
    if (getErrorCode(error) === IN_FAILED_TRANSACTION) {
      return new TypeORMError(
        'A statement of this transaction has failed, so the server has rolled it back: let the error pass, or execute the statement in a nested transaction',
      );
    }
    return explainFailure(error, sql, postgresErrors, this.connection.entityMetadatas);
  }

  /** Closes the connection if the server does not answer in time. */
  private limitAnswerTime(): NodeJS.Timeout | undefined {
    if (this.statementLimit === undefined) return undefined;
    return setTimeout(() => {
      const reason = new Error('The database server did not answer in time');
      this.lose(new StoreUnavailableError(reason));
    }, this.statementLimit + ANSWER_MARGIN_MS);
  }

  /** The server rolls the transaction back when it notices the closed connection. */
  private lose(error: Error): void {
    this.lost ??= error;
    const closed = this.connect().then((client: Client) => client.end());
    void closed.catch(() => undefined);
  }
}
