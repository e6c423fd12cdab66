import type { Client } from 'pg';
import { QueryFailedError, TypeORMError } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import type { ReplicationMode } from 'typeorm/driver/types/ReplicationMode.js';
import type { StoreExtra, TimeLimited } from '../data-source/store-data-source.js';
import { TransactionTimer } from '../data-source/transaction-timer.js';
import { StoreUnavailableError } from '../store-unavailable.error.js';
import { findWritten, isStoreFailure, toConstraintError } from './postgres-errors.js';
import { ANSWER_MARGIN_MS, STATEMENT_TIMEOUT_MS } from './postgres-session.js';

// Everything that depends on internals of TypeORM's PostgreSQL query runner.
// test/postgres/driver.e2e-spec.ts fails if an upgrade changes them.

/** The statement by which TypeORM ends a transaction. */
const COMMIT = 'COMMIT';

/** The server has rolled a transaction back, since its module has caught the error of a statement. */
class RolledBackError extends TypeORMError {
  override readonly message =
    'A statement of this transaction has failed, so the server has rolled it back: let the error pass, or execute the statement in a nested transaction';
}

/**
 * TypeORM's query runner with time limits. It never returns a connection with an open transaction
 * to the pool.
 */
export class StorePostgresQueryRunner extends PostgresQueryRunner implements TimeLimited {
  private timer: TransactionTimer | undefined;
  /** The reason why the connection was closed while its caller still uses it. */
  private lost: Error | undefined;
  /** Whether a nested transaction did not begin, which its caller will roll back. */
  private hasNoSavepoint = false;
  private statementLimit: number | undefined = STATEMENT_TIMEOUT_MS;
  private transactionLimit: number | undefined;
  /** How many statements have been sent and not been answered. */
  private unanswered = 0;
  private answerTimer: NodeJS.Timeout | undefined;

  constructor(driver: PostgresDriver, mode: ReplicationMode) {
    super(driver, mode);
    this.transactionLimit = (driver.options.extra as StoreExtra).transactionTimeoutMs;
  }

  async setTimeLimit(limit: number | undefined): Promise<void> {
    await this.query(`SELECT set_config('statement_timeout', $1, false)`, [String(limit ?? 0)]);
    this.statementLimit = limit;
    this.transactionLimit = limit;
  }

  override async query(
    sql: string,
    parameters?: unknown[],
    isStructured?: boolean,
  ): ReturnType<PostgresQueryRunner['query']> {
    this.assertNotLost();
    await this.connectOrFail();
    if (this.unanswered++ === 0) this.limitAnswerTime();
    try {
      if (sql === COMMIT) return await this.sendCommit();
      return (await super.query(sql, parameters, isStructured)) as unknown;
    } catch (error) {
      this.assertNotLost();
      if (error instanceof RolledBackError) throw error;
      const cause = error instanceof QueryFailedError ? (error.driverError as Error) : error;
      if (isStoreFailure(cause)) throw new StoreUnavailableError(cause as Error);
      throw toConstraintError(cause, this.connection.entityMetadatas, findWritten(sql)) ?? error;
    } finally {
      this.unanswered--;
      this.limitAnswerTime();
    }
  }

  override async startTransaction(isolation?: IsolationLevel): Promise<void> {
    if (this.lost !== undefined) {
      // The caller will call rollbackTransaction().
      this.transactionDepth++;
      throw this.lost;
    }
    if (this.transactionDepth === 0) {
      this.timer = new TransactionTimer();
      await this.connectOrFail();
      this.timer.start(this.transactionLimit, (error) => this.lose(error));
    }
    try {
      await super.startTransaction(isolation);
    } catch (error) {
      this.hasNoSavepoint = this.transactionDepth > 0;
      throw error;
    }
  }

  override async commitTransaction(): Promise<void> {
    if (this.transactionDepth === 1) this.timer?.stop();
    await super.commitTransaction();
  }

  /**
   * Sends COMMIT. TypeORM ignores the answer, which is ROLLBACK if a statement of the transaction has
   * failed.
   */
  private async sendCommit(): Promise<unknown[]> {
    const client = (await this.connect()) as Client;
    this.connection.logger.logQuery(COMMIT, [], this);
    const { command, rows } = await client.query<object>(COMMIT).catch((error: unknown) => {
      throw new QueryFailedError(COMMIT, [], error as Error);
    });
    if (command !== COMMIT) throw new RolledBackError();
    return rows;
  }

  override async rollbackTransaction(): Promise<void> {
    if (this.hasNoSavepoint) {
      // TypeORM would roll the outer transaction back, and commit its later statements one by one.
      this.hasNoSavepoint = false;
      return;
    }
    if (this.transactionDepth === 1) this.timer?.stop();
    if (this.lost === undefined) {
      await super.rollbackTransaction();
      return;
    }
    // The server has rolled the transaction back, or will when it notices the closed connection.
    this.transactionDepth = Math.max(0, this.transactionDepth - 1);
    if (this.transactionDepth === 0) this.forgetConnection(this.lost);
  }

  /** Gives up a closed connection, so that the next statement gets another one. */
  private forgetConnection(reason: Error): void {
    const { connectedQueryRunners } = this.driver;
    connectedQueryRunners.splice(connectedQueryRunners.indexOf(this), 1);
    this.releaseCallback?.(reason);
    Object.assign(this, {
      releaseCallback: undefined,
      databaseConnection: undefined,
      databaseConnectionPromise: undefined,
    });
    this.isTransactionActive = false;
    this.statementLimit = STATEMENT_TIMEOUT_MS;
    this.lost = undefined;
  }

  override async release(): Promise<void> {
    this.timer?.stop();
    if (!this.isReleased && this.lost === undefined)
      await this.resetConnection().catch(() => undefined);
    await super.release();
  }

  /** Migrations have no time limit. */
  override async beforeMigration(): Promise<void> {
    await this.setTimeLimit(undefined);
    await super.beforeMigration();
  }

  /** Resets the connection for the next query runner. */
  private async resetConnection(): Promise<void> {
    if (this.isTransactionActive) await this.query('ROLLBACK');
    if (this.statementLimit !== STATEMENT_TIMEOUT_MS) await this.setTimeLimit(STATEMENT_TIMEOUT_MS);
  }

  /** Connects within the time limit of the pool. */
  private async connectOrFail(): Promise<void> {
    await this.connect().catch((error: unknown) => {
      throw new StoreUnavailableError(error as Error);
    });
  }

  private assertNotLost(): void {
    if (this.lost !== undefined) throw this.lost;
  }

  /**
   * Closes the connection if the server does not answer the next statement in time. The server
   * executes statements that were sent together one after another.
   */
  private limitAnswerTime(): void {
    clearTimeout(this.answerTimer);
    if (this.unanswered === 0 || this.statementLimit === undefined) return;
    this.answerTimer = setTimeout(() => {
      const reason = new Error('The database server did not answer in time');
      this.lose(new StoreUnavailableError(reason));
    }, this.statementLimit + ANSWER_MARGIN_MS);
  }

  private lose(error: Error): void {
    this.lost = error;
    const closed = this.connect().then((client: Client) => client.end());
    void closed.catch(() => undefined);
  }
}
