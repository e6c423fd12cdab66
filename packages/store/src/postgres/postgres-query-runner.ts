import type { Client, Pool, QueryResult as Answer } from 'pg';
import { QueryResult, type TableColumn, TypeORMError } from 'typeorm';
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import type { ReplicationMode } from 'typeorm/driver/types/ReplicationMode.js';
import { QueryRunnerAlreadyReleasedError } from 'typeorm/error/QueryRunnerAlreadyReleasedError.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { Send, StoreQueryRunner } from '../engine/engine.js';
import { NoTransactionError } from '../engine/sessions.js';
import { explainFailure, getErrorCode, skipComments } from '../engine/driver-errors.js';
import { sendQuery, TransactionControl, TransactionControlError } from '../engine/send-query.js';
import { escapeDefault } from '../engine/schema-builder.js';
import type { StoreExtra } from '../engine/store-data-source.js';
import { TransactionTimer } from '../engine/transaction-timer.js';
import { Sequence } from '../engine/sequence.js';
import { StoreUnavailableError } from '../errors/store.errors.js';
import { SET_TIME_LIMITS } from './postgres-connections.js';
import { spellDefault, writeArray } from './postgres-defaults.js';
import {
  explainRefusedStatement,
  isRefusedStatement,
  isStaleStatement,
  postgresErrors,
} from './postgres-errors.js';
import { PostgresSchemaBuilder, PostgresSchemaRunner } from './postgres-schema-runner.js';

// Everything that depends on internals of TypeORM's PostgreSQL driver.
// test/postgres/driver.e2e-spec.ts fails if an upgrade changes them.

/** TypeORM's driver, with the query runner of this project. */
export class StorePostgresDriver extends PostgresDriver {
  override createQueryRunner(mode: ReplicationMode): StorePostgresQueryRunner {
    return new StorePostgresQueryRunner(this, mode);
  }

  override normalizeDefault(column: ColumnMetadata): string | undefined {
    const { default: value, isArray } = column;
    const isList = isArray && Array.isArray(value);
    return escapeDefault(isList ? writeArray(value) : super.normalizeDefault(column), value);
  }

  override findChangedColumns(loaded: TableColumn[], columns: ColumnMetadata[]): ColumnMetadata[] {
    const spelled = loaded.map((one) => {
      const column = columns.find(({ databaseName }) => databaseName === one.name);
      return column === undefined ? one : spellDefault(one, column);
    });
    return super.findChangedColumns(spelled, columns);
  }

  override createSchemaBuilder(): PostgresSchemaBuilder {
    return new PostgresSchemaBuilder(this.connection);
  }

  /** TypeORM logs what the server sends on the first connection only, which may be closed soon. */
  protected override async createPool(
    ...args: Parameters<PostgresDriver['createPool']>
  ): Promise<Pool> {
    const pool = (await super.createPool(...args)) as Pool;
    const log = (line = ''): void => void this.connection.logger.log('info', line);
    if (this.options.logNotifications !== true) return pool;
    return pool.on('connect', (client) => {
      client.on('notice', ({ message }) => log(message));
      client.on('notification', ({ channel, payload }) =>
        log(`Received NOTIFY on channel ${channel}: ${payload}.`),
      );
    });
  }

  /** TypeORM makes a Date only if the column has the long name of its type. */
  override prepareHydratedValue(value: unknown, column: ColumnMetadata): unknown {
    const isMoment = column.type === 'timestamptz' && typeof value === 'string';
    return super.prepareHydratedValue(isMoment ? new Date(value) : value, column) as unknown;
  }
}

/** The statements by which TypeORM begins and ends a transaction. */
const [BEGIN, COMMIT] = ['START TRANSACTION', 'COMMIT'];
/** Comments, and whatever is in quotes. What follows BEGIN ATOMIC is the body of a function. */
const NO_KEYWORDS =
  /--[^\n]*|\/\*[^]*?\*\/|\be'(?:[^'\\]|\\[^])*'|'[^']*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|\bbegin\s+atomic\b[^]*/gi;
/** Statements that begin or end a transaction. */
const CONTROLS =
  /^(?:abort|begin|commit|end|prepare\s+transaction|release|rollback|savepoint|start\s+transaction)\b/i;
/**
 * If one of these fails, TypeORM no longer knows which transaction is open. It can still roll back
 * to a savepoint that could not be released.
 */
const LOSES = /^(?:START TRANSACTION|SAVEPOINT|ROLLBACK(?! TO)|COMMIT)\b/;
/** Statements that change the session beyond the end of a transaction. */
const CHANGES_SESSION =
  /\bset_config\b|(?:^|;)\s*(?:reset|discard|listen|create\s+temp(?:orary)?|set(?!\s+(?:local|transaction|constraints)))\b/i;
/** The code of every statement after a failed one, whose error the module has caught. */
const IN_FAILED_TRANSACTION = '25P02';

/**
 * TypeORM's query runner with time limits. Its statements run one after another. A runner that has
 * lost its transaction refuses everything until it is released, and then closes its connection.
 */
export class StorePostgresQueryRunner extends PostgresSchemaRunner implements StoreQueryRunner {
  private readonly control = new TransactionControl();
  private readonly sequence = new Sequence();
  private timer: TransactionTimer | undefined;
  private readonly extra = this.driver.options.extra as StoreExtra;
  private readonly answerMarginMs = this.extra.timeLimits.answerMarginMs;
  private statementLimit: number | undefined = this.extra.timeLimits.statementMs;
  private transactionLimit = this.extra.transactionTimeoutMs;
  /** Whether the connection has other settings than the pool, or may be broken. */
  private mustClose = false;
  /** TypeORM also releases a query runner whose connection has broken. */
  private isReleasedByModule = false;
  /** Why the transaction was lost. */
  private abortedBy: Error | undefined;

  async setTimeLimit(limit: number | undefined): Promise<void> {
    const limits = limit === undefined ? [0, 0] : [limit, limit + this.answerMarginMs];
    await this.query(`SELECT ${SET_TIME_LIMITS}`, limits.map(String));
    this.statementLimit = limit;
    this.transactionLimit = limit;
  }

  override async query(
    sql: string,
    parameters?: unknown[],
    isStructured?: boolean,
  ): ReturnType<PostgresQueryRunner['query']> {
    this.assertNotReleased();
    if (isControl(sql)) this.control.assertAllowed();
    const send = (): Promise<QueryResult> =>
      this.sequence.execute(() => this.execute(sql, parameters));
    const result = await sendQuery(this, sql, parameters, send);
    return isStructured === true ? result : (result.raw as unknown);
  }

  async join<Result>(work: (send: Send) => Promise<Result>): Promise<Result> {
    const send: Send = async (sql, parameters) => {
      try {
        const { records }: QueryResult<unknown> = await this.execute(sql, [...parameters]);
        return records;
      } catch (error) {
        throw isRefusedStatement(error) ? explainRefusedStatement(error, sql) : error;
      }
    };
    return await this.sequence.execute(async () => {
      if (!this.isTransactionActive) throw new NoTransactionError();
      return await work(send);
    });
  }

  override async startTransaction(isolation?: IsolationLevel): Promise<void> {
    // Before any await, so that its stack shows the caller.
    if (this.transactionDepth === 0) this.timer = new TransactionTimer();
    await this.control.allow(() => super.startTransaction(isolation));
  }

  override async commitTransaction(): Promise<void> {
    await this.control.allow(() => super.commitTransaction());
  }

  override async rollbackTransaction(): Promise<void> {
    await this.control.allow(() => super.rollbackTransaction());
  }

  override async release(): Promise<void> {
    this.isReleasedByModule = true;
    this.timer?.stop();
    // A statement may still be on its way.
    await this.sequence.execute(() => Promise.resolve());
    if (this.abortedBy !== undefined || this.mustClose || this.isTransactionActive) {
      this.releaseCallback?.(this.abortedBy ?? new Error('The connection is not used again'));
      Object.assign(this, { releaseCallback: undefined });
    }
    await super.release();
  }

  /** Migrations have no time limit. */
  override async beforeMigration(): Promise<void> {
    await this.setTimeLimit(undefined);
    await super.beforeMigration();
  }

  private assertNotReleased(): void {
    if (!this.isReleased) return;
    if (this.isReleasedByModule) throw new QueryRunnerAlreadyReleasedError();
    throw new StoreUnavailableError(new Error('The connection to the database server has broken'));
  }

  private async execute(sql: string, parameters: unknown[] | undefined): Promise<QueryResult> {
    this.assertNotReleased();
    if (this.abortedBy !== undefined) {
      // It is rolled back already, as a module wants it that handles the error.
      if (sql.startsWith('ROLLBACK')) return new QueryResult();
      throw this.abortedBy;
    }
    // No other caller may get such a session, which may commit without a flush.
    if (CHANGES_SESSION.test(skipComments(sql))) this.mustClose = true;
    const answerTimer = this.limitAnswerTime();
    try {
      const client = (await this.connect()) as Client;
      if (sql === BEGIN) this.timer?.start(this.transactionLimit, (error) => this.lose(error));
      if (sql === COMMIT || sql === 'ROLLBACK') this.timer?.stop();
      return await this.send(client, sql, parameters);
    } catch (error) {
      const failure = this.toError(error, sql, parameters);
      // The pool learns later that the server has closed a connection.
      if (failure instanceof StoreUnavailableError) this.mustClose = true;
      if (LOSES.test(sql)) this.abortedBy ??= failure;
      throw this.abortedBy ?? failure;
    } finally {
      clearTimeout(answerTimer);
    }
  }

  private async send(
    client: Client,
    sql: string,
    parameters: unknown[] | undefined,
  ): Promise<QueryResult> {
    const wasIdle = client.getTransactionStatus() === 'I';
    const answer = await client.query<object>(sql, parameters);
    // The server answers ROLLBACK to a COMMIT if a statement of the transaction has failed.
    if (sql === COMMIT && answer.command !== COMMIT) {
      throw Object.assign(new Error(), { code: IN_FAILED_TRANSACTION });
    }
    const isIdle = client.getTransactionStatus() === 'I';
    if (wasIdle !== isIdle && !isControl(sql)) {
      // As the second statement of a text does, or a procedure.
      const error = new TransactionControlError();
      this.lose(error);
      throw error;
    }
    return toQueryResult(answer);
  }

  private toError(error: unknown, sql: string, parameters: unknown[] | undefined): Error {
    if (getErrorCode(error) === IN_FAILED_TRANSACTION) {
      return new TypeORMError(
        'A statement of this transaction has failed, so the server has rolled it back: let the error pass, or execute the statement in a nested transaction',
      );
    }
    if (isStaleStatement(error)) return new StoreUnavailableError(error as Error);
    const { entityMetadatas } = this.connection;
    return explainFailure(error, sql, parameters, postgresErrors, entityMetadatas);
  }

  /** Closes the connection if the server does not answer in time. */
  private limitAnswerTime(): NodeJS.Timeout | undefined {
    if (this.statementLimit === undefined) return undefined;
    return setTimeout(() => {
      const reason = new Error('The database server did not answer in time');
      this.lose(new StoreUnavailableError(reason));
    }, this.statementLimit + this.answerMarginMs);
  }

  /** The server rolls the transaction back when it notices the closed connection. */
  private lose(error: Error): void {
    this.abortedBy ??= error;
    const closed = this.connect().then((client: Client) => client.end());
    void closed.catch(() => undefined);
  }
}

/** Whether a text has a statement that begins or ends a transaction. */
function isControl(sql: string): boolean {
  const statements = sql.replace(NO_KEYWORDS, ' ').split(';');
  return statements.some((statement) => CONTROLS.test(statement.trim()));
}

/** Converts an answer as TypeORM does. A text of several statements has several answers. */
function toQueryResult(answer: Answer<object> | readonly Answer<object>[]): QueryResult {
  const result = new QueryResult();
  if (!('command' in answer)) return result;
  const { command, rows, rowCount } = answer;
  result.records = rows;
  if (rowCount !== null) result.affected = rowCount;
  result.raw = command === 'DELETE' || command === 'UPDATE' ? [rows, rowCount] : rows;
  return result;
}
