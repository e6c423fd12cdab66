import { QueryFailedError, QueryResult, TypeORMError } from 'typeorm';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import type { SqliteDriver } from 'typeorm/driver/sqlite/SqliteDriver.js';
import { SqliteQueryRunner } from 'typeorm/driver/sqlite/SqliteQueryRunner.js';
import { QueryRunnerAlreadyReleasedError } from 'typeorm/error/QueryRunnerAlreadyReleasedError.js';
import { TransactionNotStartedError } from 'typeorm/error/TransactionNotStartedError.js';
import { ConstraintError } from '../constraint.error.js';
import type { StoreExtra, TimeLimited } from '../data-source/store-data-source.js';
import { getErrorCode } from '../data-source/error-code.js';
import { TransactionTimer } from '../data-source/transaction-timer.js';
import { StoreUnavailableError } from '../store-unavailable.error.js';
import { classifyStatement, type StatementKind } from './classify-statement.js';
import { findViolatedForeignKey } from './find-violated-foreign-key.js';
import type { SqliteConnection } from './sqlite-connection.js';
import type { PooledConnection, SqliteConnectionPool } from './sqlite-connection-pool.js';
import { isStoreFailure, toConstraintError } from './sqlite-errors.js';
import { assertOutsideTransaction } from './transaction-scope.js';

const ISOLATION_LEVELS = new Set<IsolationLevel>(['SERIALIZABLE', 'READ UNCOMMITTED']);

const REMOVAL = /^\s*DELETE\b/i;
/** The table that a statement of TypeORM writes to. */
const WRITTEN_TABLE = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM)\s+"([^"]+)"/i;

type SqliteCall = (
  sql: string,
  parameters: unknown[],
  callback: (error: Error | null, rows?: unknown[]) => void,
) => void;

/** The methods of a sqlite3 database that TypeORM calls. */
type SqliteCalls = Record<'run' | 'all', SqliteCall>;

/**
 * Makes run() and all() use prepared statements: one thread hop fewer while holding the write lock.
 *
 * @param begin resolves when the statement may be executed
 */
function prepareCalls(connection: SqliteConnection, begin: () => Promise<void>): SqliteCalls {
  const call =
    (method: 'run' | 'all'): SqliteCall =>
    (sql, parameters, callback) =>
      void begin()
        .then(() => {
          connection.prepare(sql, parameters, callback)[method](parameters, callback);
        })
        .catch(callback);
  return { run: call('run'), all: call('all') };
}

/** A transaction without a statement so far, which holds no lock yet. */
interface PendingTransaction {
  readonly kind: 'pending';
  readonly timer: TransactionTimer;
  /** Resolves when the first statement may run; undefined until there is one. */
  begun?: Promise<OpenTransaction>;
}

interface OpenTransaction {
  readonly kind: 'open';
  readonly timer: TransactionTimer;
  readonly pooled: PooledConnection;
  /** Resolves when the statements that have begun so far have ended. */
  last?: Promise<void>;
  /** Whether its connection was altered, so that no other query runner may use it afterwards. */
  isAltered: boolean;
}

/** A transaction that has ended before its caller ended it. */
interface LostTransaction {
  readonly kind: 'lost';
  readonly reason: Error;
}

type TransactionState =
  { readonly kind: 'idle' } | PendingTransaction | OpenTransaction | LostTransaction;

const IDLE: TransactionState = { kind: 'idle' };

/** Takes the write lock at once: after a read, SQLite may refuse the lock for the first write. */
const BEGIN_IMMEDIATE = 'BEGIN IMMEDIATE';
/** Statements that take the write lock before they read anything. */
const LOCKING = /^\s*(?:insert|update|delete|replace)\b/i;

/** TypeORM's query runner on pooled connections: one for a statement, or for a whole transaction. */
export class StoreSqliteQueryRunner extends SqliteQueryRunner implements TimeLimited {
  private state: TransactionState = IDLE;
  /** The connection of a caller that has altered it. */
  private dedicated: SqliteConnection | undefined;
  private timeLimit: number | undefined;
  /** The connection of the statement that is about to run. */
  private calls: SqliteCalls | undefined;

  constructor(
    driver: SqliteDriver,
    private readonly connections: SqliteConnectionPool,
  ) {
    super(driver);
    this.timeLimit = (driver.options.extra as StoreExtra).transactionTimeoutMs;
  }

  setTimeLimit(limit: number | undefined): void {
    this.timeLimit = limit;
  }

  /** TypeORM calls this for the connection of a statement before its first await. */
  override connect(): Promise<SqliteCalls | undefined> {
    return Promise.resolve(this.calls);
  }

  override async query(
    sql: string,
    parameters: unknown[] = [],
    isStructured = false,
  ): ReturnType<SqliteQueryRunner['query']> {
    this.assertNotReleased();
    const kind = classifyStatement(sql);
    if (kind === 'control') {
      throw new TypeORMError(
        'A transaction is begun and ended by dataSource.transaction() or by the methods of a query runner, not by a statement',
      );
    }
    if (this.state.kind === 'idle') {
      return await this.queryAlone(kind, sql, parameters, isStructured);
    }
    const transaction = await this.beginOnce(this.state, sql);
    return await this.queryInTransaction(transaction, kind, sql, parameters, isStructured);
  }

  private assertNotReleased(): void {
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
  }

  private async queryAlone(
    kind: StatementKind,
    ...statement: [string, unknown[], boolean]
  ): Promise<unknown> {
    const { connections } = this;
    if (kind === 'alter') this.dedicated ??= await connections.openDedicated();
    const access = kind === 'read' ? 'read' : 'write';
    const pooled = await connections.acquire(access, this.dedicated);
    let isBroken = false;
    const timer = new TransactionTimer();
    let late: Error | undefined;
    timer.start(this.timeLimit, (reason) => {
      late = reason;
      pooled.connection.interrupt();
    });
    try {
      const result = await this.queryOn(pooled.connection, () => Promise.resolve(), ...statement);
      if (kind !== 'read') connections.assertSameStore();
      return result;
    } catch (error) {
      isBroken = error instanceof StoreUnavailableError;
      throw late ?? error;
    } finally {
      timer.stop();
      await pooled.release(isBroken);
    }
  }

  private async queryInTransaction(
    transaction: OpenTransaction,
    kind: StatementKind,
    ...statement: [string, unknown[], boolean]
  ): Promise<unknown> {
    if (kind === 'alter') transaction.isAltered = true;
    let endTurn: (() => void) | undefined;
    // A read that rounds integers is executed twice, in one turn.
    const begin = async (): Promise<void> => {
      endTurn ??= await this.takeTurn(transaction);
    };
    try {
      return await this.queryOn(transaction.pooled.connection, begin, ...statement);
    } catch (error) {
      if (this.state === transaction) await this.loseIfRolledBack(transaction, error);
      const state = this.state;
      throw state.kind === 'lost' && state.reason.cause !== error ? state.reason : error;
    } finally {
      endTurn?.();
    }
  }

  /**
   * Waits until the statements before have ended, also if a module has begun them together. None is
   * executed after one with which the transaction has ended.
   *
   * @returns a function that lets the next one begin
   */
  private async takeTurn(transaction: OpenTransaction): Promise<() => void> {
    const before = transaction.last;
    let end = (): void => undefined;
    transaction.last = new Promise((resolve) => (end = resolve));
    await before;
    if (this.state === transaction) return end;
    end();
    throw this.state.kind === 'lost' ? this.state.reason : new TransactionNotStartedError();
  }

  /**
   * After some errors, SQLite has rolled back the whole transaction. Its later statements must then
   * not be committed on their own.
   */
  private async loseIfRolledBack(transaction: OpenTransaction, cause: unknown): Promise<void> {
    const isOpen = await transaction.pooled.connection.exec('BEGIN').then(
      () => false,
      () => true,
    );
    if (isOpen || this.state !== transaction) return;
    const reason = new StoreUnavailableError('', [], cause as Error);
    reason.cause = cause;
    await this.end(transaction, { kind: 'lost', reason });
  }

  private async queryOn(
    connection: SqliteConnection,
    begin: () => Promise<void>,
    sql: string,
    parameters: unknown[],
    isStructured: boolean,
  ): Promise<unknown> {
    const values = parameters.map(toBindable);
    const callTypeOrm = async (text: string): Promise<unknown> => {
      // super.query() calls connect() before any await, so no other statement can replace `calls` in between.
      this.calls = prepareCalls(connection, begin);
      return (await super.query(text, values, isStructured)) as unknown;
    };
    try {
      const result = await callTypeOrm(sql);
      // Only query builders request a structured result. Callers of query() get the rows as the
      // driver returns them.
      if (!(result instanceof QueryResult) || classifyStatement(sql) !== 'read') return result;
      const columns = findRoundedColumns(result.records);
      return columns.length === 0 ? result : await callTypeOrm(withExactIntegers(sql, columns));
    } catch (error) {
      if (!(error instanceof QueryFailedError)) throw error;
      const cause = connection.dropPagesAfter(error.driverError as Error);
      if (isStoreFailure(cause)) {
        throw new StoreUnavailableError(error.query, error.parameters, cause);
      }
      throw (await this.explainConstraint(connection, error.query, cause, values)) ?? error;
    }
  }

  /** Finds the constraint that a statement has violated, if that is why it failed. */
  private async explainConstraint(
    connection: SqliteConnection,
    query: string,
    cause: Error,
    values: readonly unknown[],
  ): Promise<ConstraintError | undefined> {
    const { entityMetadatas } = this.connection;
    const table = WRITTEN_TABLE.exec(query)?.[1];
    const constraint = toConstraintError(cause, entityMetadatas, table);
    const entity = entityMetadatas.find(({ tableName }) => tableName === table);
    if (constraint?.kind !== 'foreign key' || entity === undefined) return constraint;
    const isRemoval = REMOVAL.test(query);
    const properties = isRemoval
      ? entity.primaryColumns.map(({ propertyPath }) => propertyPath)
      : await findViolatedForeignKey(connection, entity, query, values);
    return new ConstraintError(
      isRemoval ? 'referenced' : 'foreign key',
      table,
      properties,
      undefined,
      {
        cause,
      },
    );
  }

  override async startTransaction(isolation?: IsolationLevel): Promise<void> {
    if (isolation !== undefined && !ISOLATION_LEVELS.has(isolation)) {
      throw new TypeORMError('SQLite only supports SERIALIZABLE and READ UNCOMMITTED isolation');
    }
    // Created before the first await, so that its stack shows the caller.
    const timer = new TransactionTimer();
    if (this.state.kind === 'lost') {
      // The caller will call rollbackTransaction().
      this.transactionDepth++;
      throw this.state.reason;
    }
    await this.broadcaster.broadcast('BeforeTransactionStart');
    if (this.transactionDepth === 0) {
      assertOutsideTransaction();
      this.state = { kind: 'pending', timer };
      this.isTransactionActive = true;
      this.transactionDepth = 1;
    } else {
      // If it does not begin, the caller will call rollbackTransaction() all the same.
      const savepoint = `SAVEPOINT typeorm_${this.transactionDepth++}`;
      try {
        if (this.state.kind === 'pending') await this.beginOnce(this.state, savepoint);
        await this.controlTransaction(savepoint);
      } catch (reason) {
        await this.loseTransaction(reason as Error);
        throw reason;
      }
    }
    await this.broadcaster.broadcast('AfterTransactionStart');
  }

  /** Refuses all later statements of the transaction, since nothing could undo a part of it. */
  private async loseTransaction(reason: Error): Promise<void> {
    const lost: TransactionState = { kind: 'lost', reason };
    if (this.state.kind === 'open') await this.end(this.state, lost);
    else if (this.state.kind === 'pending') this.state = lost;
  }

  override async commitTransaction(): Promise<void> {
    if (!this.isTransactionActive) throw new TransactionNotStartedError();
    await this.broadcaster.broadcast('BeforeTransactionCommit');
    if (this.transactionDepth > 1) {
      await this.controlTransaction(`RELEASE SAVEPOINT typeorm_${this.transactionDepth - 1}`);
      this.transactionDepth--;
    } else {
      await this.commitAll();
      this.isTransactionActive = false;
      this.transactionDepth = 0;
    }
    await this.broadcaster.broadcast('AfterTransactionCommit');
  }

  private async commitAll(): Promise<void> {
    if (this.state.kind === 'pending') await this.state.begun;
    const state = this.state;
    if (state.kind === 'lost') throw state.reason;
    if (state.kind !== 'open') {
      this.state = IDLE;
      return;
    }
    state.timer.stop();
    try {
      await this.controlTransaction('COMMIT', IDLE);
    } catch (error) {
      this.limitTime(state);
      throw error;
    }
    try {
      this.connections.assertSameStore();
    } finally {
      await this.releaseConnection(state);
    }
  }

  override async rollbackTransaction(): Promise<void> {
    if (!this.isTransactionActive) throw new TransactionNotStartedError();
    if (this.state.kind === 'lost') {
      this.transactionDepth = Math.max(0, this.transactionDepth - 1);
      if (this.transactionDepth === 0) this.forgetTransaction();
      return;
    }
    await this.broadcaster.broadcast('BeforeTransactionRollback');
    if (this.transactionDepth > 1) {
      await this.controlTransaction(`ROLLBACK TO SAVEPOINT typeorm_${this.transactionDepth - 1}`);
      this.transactionDepth--;
    } else {
      if (this.state.kind === 'pending') await this.state.begun?.catch(() => undefined);
      const state = this.state as TransactionState;
      if (state.kind === 'open') await this.end(state, IDLE);
      this.forgetTransaction();
    }
    await this.broadcaster.broadcast('AfterTransactionRollback');
  }

  override async release(): Promise<void> {
    if (this.isReleased) return;
    this.isReleased = true;
    if (this.state.kind === 'open') await this.end(this.state, IDLE);
    else if (this.state.kind === 'pending' && this.state.begun === undefined) this.state = IDLE;
    if (this.dedicated !== undefined) {
      await this.connections.closeDedicated(this.dedicated);
    }
    await super.release();
  }

  override async beforeMigration(): Promise<void> {
    this.timeLimit = undefined;
    await super.beforeMigration();
  }

  /**
   * Returns the transaction of a statement. It begins with its first statement.
   *
   * @throws Error when it has ended, cannot begin or does not get the write lock in time
   */
  private async beginOnce(
    state: PendingTransaction | OpenTransaction | LostTransaction,
    sql: string,
  ): Promise<OpenTransaction> {
    if (state.kind === 'lost') throw state.reason;
    return state.kind === 'open' ? state : await (state.begun ??= this.begin(state, sql));
  }

  /** @param sql the first statement */
  private async begin(transaction: PendingTransaction, sql: string): Promise<OpenTransaction> {
    const { timer } = transaction;
    let pooled: PooledConnection;
    try {
      pooled = await this.connections.acquire('transaction', this.dedicated, timer.origin);
    } catch (error) {
      // The next statement tries again.
      delete transaction.begun;
      throw error;
    }
    const open: OpenTransaction = { kind: 'open', timer, pooled, isAltered: false };
    this.state = open;
    if (this.isReleased) {
      await this.end(open, IDLE);
      throw new QueryRunnerAlreadyReleasedError();
    }
    this.limitTime(open);
    try {
      if (!pooled.hasBegun) await pooled.connection.exec(BEGIN_IMMEDIATE);
      else if (!LOCKING.test(sql)) await pooled.connection.exec(`ROLLBACK; ${BEGIN_IMMEDIATE}`);
    } catch (error) {
      const reason = new StoreUnavailableError(BEGIN_IMMEDIATE, [], error as Error);
      if (this.state === open) await this.end(open, { kind: 'lost', reason });
    }
    return this.assertOpen();
  }

  private assertOpen(): OpenTransaction {
    const { state } = this;
    if (state.kind === 'lost') throw state.reason;
    if (state.kind !== 'open') throw new TransactionNotStartedError();
    return state;
  }

  /** @param next the state after the statement, before any other one */
  private async controlTransaction(sql: string, next?: TransactionState): Promise<void> {
    const transaction = this.assertOpen();
    const endTurn = await this.takeTurn(transaction);
    try {
      await transaction.pooled.connection.exec(sql);
      if (next !== undefined) this.state = next;
    } catch (error) {
      const current = this.state;
      if (current.kind === 'lost') throw current.reason;
      if (isStoreFailure(error)) throw new StoreUnavailableError(sql, [], error as Error);
      const { entityMetadatas } = this.connection;
      // A deferred foreign key is checked at COMMIT.
      throw (
        toConstraintError(error, entityMetadatas) ?? new QueryFailedError(sql, [], error as Error)
      );
    } finally {
      endTurn();
    }
  }

  private limitTime(transaction: OpenTransaction): void {
    transaction.timer.start(this.timeLimit, (reason) => {
      if (this.state !== transaction) return;
      transaction.pooled.connection.interrupt();
      void this.end(transaction, { kind: 'lost', reason });
    });
  }

  /** Rolls back, and releases the connection and the write lock. */
  private async end(transaction: OpenTransaction, next: TransactionState): Promise<void> {
    this.state = next;
    await transaction.pooled.connection.exec('ROLLBACK').catch((error: unknown) => {
      // SQLITE_ERROR means that SQLite has rolled back already. After other errors the connection
      // is not reused.
      if (getErrorCode(error) !== 'SQLITE_ERROR') transaction.isAltered = true;
    });
    await this.releaseConnection(transaction);
  }

  private async releaseConnection(transaction: OpenTransaction): Promise<void> {
    transaction.timer.stop();
    await transaction.pooled.release(transaction.isAltered);
  }

  private forgetTransaction(): void {
    this.state = IDLE;
    this.isTransactionActive = false;
    this.transactionDepth = 0;
  }
}

/** Converts bigint values, for which sqlite3 would store NULL. */
function toBindable(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

export function isUnsafeInteger(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** Finds the columns in which an int64 may have been rounded. */
function findRoundedColumns(rows: readonly Record<string, unknown>[]): string[] {
  const names = new Set<string>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      if (isUnsafeInteger(value) && Math.abs(value as number) <= 2 ** 63) names.add(name);
    }
  }
  return [...names];
}

/**
 * Writes a query for the same rows, with the integers of these columns as text. Large
 * floating-point numbers stay numbers.
 */
function withExactIntegers(sql: string, columns: readonly string[]): string {
  const exact = columns
    .map((name) => `"${name.replaceAll('"', '""')}"`)
    .map(
      (name) =>
        `CASE typeof(${name}) WHEN 'integer' THEN CAST(${name} AS TEXT) ELSE ${name} END AS ${name}`,
    );
  return `SELECT *, ${exact.join(', ')} FROM (${sql})`;
}
