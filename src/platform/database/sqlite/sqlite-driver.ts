import { dirname, resolve } from 'node:path';
import type { Database } from 'sqlite3';
import {
  type DataSource,
  type EntityManager,
  type EntityMetadata,
  type ObjectLiteral,
  QueryFailedError,
  QueryResult,
  TypeORMError,
} from 'typeorm';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import { SqliteDriver } from 'typeorm/driver/sqlite/SqliteDriver.js';
import { SqliteQueryRunner } from 'typeorm/driver/sqlite/SqliteQueryRunner.js';
import { QueryRunnerAlreadyReleasedError } from 'typeorm/error/QueryRunnerAlreadyReleasedError.js';
import { TransactionNotStartedError } from 'typeorm/error/TransactionNotStartedError.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { ConstraintError } from '../constraint.error.js';
import { getErrorCode } from '../data-source/store-failures.js';
import type { StoreExtra, TimeLimited } from '../data-source/store-data-source.js';
import { StoreEntityManager } from '../data-source/store-entity-manager.js';
import { TransactionTimer } from '../data-source/transaction-timer.js';
import { StoreUnavailableError } from '../store-unavailable.error.js';
import { classifyStatement, type StatementKind } from './classify-statement.js';
import { assertOutsideTransaction, trackTransaction } from './transaction-scope.js';
import { findViolatedForeignKey } from './find-violated-foreign-key.js';
import type { SqliteConnection } from './sqlite-connection.js';
import {
  IN_MEMORY,
  type PooledConnection,
  SqliteConnectionPool,
} from './sqlite-connection-pool.js';
import { isStoreFailure, toConstraintError } from './sqlite-errors.js';
import { makeFolder } from './sqlite-permissions.js';
import { SQLITE_TYPES } from './sqlite-schema-builder.js';

// All that depends on the internals of TypeORM's SQLite driver. sqlite-driver.spec.ts fails when an
// upgrade changes them.

/** Types of columns that TypeORM does not know of SQLite. */
const OWN_TYPES = Object.keys(SQLITE_TYPES) as SqliteDriver['supportedDataTypes'];

const INTEGER_TYPES = new Set<unknown>(['int', 'integer', 'smallint', 'mediumint', Number]);

/**
 * TypeORM's driver with a connection for each query runner that works, where TypeORM has one for
 * all, on which the transactions of different callers run into each other.
 */
export class StoreSqliteDriver extends SqliteDriver {
  private opened: SqliteConnectionPool | undefined;

  constructor(dataSource: DataSource) {
    super(dataSource);
    this.supportedDataTypes.push(...OWN_TYPES);
  }

  get connections(): SqliteConnectionPool {
    if (this.opened === undefined) throw new TypeORMError('The store is not open');
    return this.opened;
  }

  override normalizeType(column: Parameters<SqliteDriver['normalizeType']>[0]): string {
    const { isGenerated, generationStrategy } = column as Partial<ColumnMetadata>;
    // Only a key of this type counts up.
    if (isGenerated === true && generationStrategy === 'increment') return 'integer';
    return SQLITE_TYPES[String(column.type)] ?? super.normalizeType(column);
  }

  override createQueryRunner(): StoreSqliteQueryRunner {
    return new StoreSqliteQueryRunner(this);
  }

  protected override async createDatabaseConnection(): Promise<Database> {
    const { database, busyTimeout = 0 } = this.options;
    if (database !== IN_MEMORY) await makeFolder(dirname(resolve(database)));
    this.opened = await SqliteConnectionPool.open(database, busyTimeout);
    return this.opened.commits.database;
  }

  override async disconnect(): Promise<void> {
    await this.connections.close();
  }

  /** An int64 is a decimal string, as it is with TypeORM's other drivers, since a number may not hold it. */
  override prepareHydratedValue(value: unknown, column: ColumnMetadata): unknown {
    if (column.type === 'bigint' && typeof value === 'number') {
      return super.prepareHydratedValue(String(value), column) as unknown;
    }
    if (INTEGER_TYPES.has(column.type) && typeof value === 'string' && isUnsafe(Number(value))) {
      throw new TypeORMError(
        `${column.entityMetadata.tableName}.${column.databaseName} holds ${value}, which a JavaScript number cannot: give the column the type bigint`,
      );
    }
    return super.prepareHydratedValue(value, column) as unknown;
  }

  override createGeneratedMap(
    metadata: EntityMetadata,
    insertedId: unknown,
    ...rest: [number, number]
  ): ObjectLiteral | undefined {
    if (metadata.generatedColumns.length > 0 && isUnsafe(insertedId)) {
      throw new TypeORMError(
        `${metadata.tableName} has generated an id that a JavaScript number cannot hold`,
      );
    }
    return super.createGeneratedMap(metadata, insertedId, ...rest);
  }
}

type SqliteCall = (
  sql: string,
  parameters: unknown[],
  callback: (error: Error | null, rows?: unknown[]) => void,
) => void;

/** What TypeORM calls of a database of sqlite3. */
type SqliteCalls = Record<'run' | 'all', SqliteCall>;

/** run() and all() on prepared statements: one thread hop fewer while holding the lock to write. */
function callsOn(connection: SqliteConnection): SqliteCalls {
  const call =
    (method: 'run' | 'all'): SqliteCall =>
    (sql, parameters, callback) =>
      connection.prepare(sql, parameters, callback)[method](parameters, callback);
  return { run: call('run'), all: call('all') };
}

/** A transaction that was begun and has no statement yet, and so keeps nobody from writing. */
interface PendingTransaction {
  readonly kind: 'pending';
  readonly timer: TransactionTimer;
  /** Resolves when the first statement may run. */
  begun?: Promise<void>;
}

interface OpenTransaction {
  readonly kind: 'open';
  readonly timer: TransactionTimer;
  readonly pooled: PooledConnection;
  /** Whether its connection was altered, so that no other query runner may use it. */
  isAltered: boolean;
}

/** A transaction that has ended though its caller did not end it. */
interface LostTransaction {
  readonly kind: 'lost';
  readonly reason: Error;
}

type TransactionState =
  { readonly kind: 'idle' } | PendingTransaction | OpenTransaction | LostTransaction;

const IDLE: TransactionState = { kind: 'idle' };

/** A lock for writing from the start: one that is taken only at the first write may come too late. */
const BEGIN = 'BEGIN IMMEDIATE';
/** A statement that takes that lock before it reads anything. */
const LOCKS = /^\s*(?:insert|update|delete|replace)\b/i;

/** TypeORM's query runner on pooled connections: one for a statement, or for a whole transaction. */
export class StoreSqliteQueryRunner extends SqliteQueryRunner implements TimeLimited {
  private state: TransactionState = IDLE;
  /** The connection of a caller who has altered it. */
  private dedicated: SqliteConnection | undefined;
  private timeLimit: number | undefined;
  /** The connection of the statement that is about to run. */
  private calls: SqliteCalls | undefined;

  constructor(override driver: StoreSqliteDriver) {
    super(driver);
    this.timeLimit = (driver.options.extra as StoreExtra).transactionTimeoutMs;
  }

  setTimeLimit(limit: number | undefined): void {
    this.timeLimit = limit;
  }

  /** TypeORM asks for the connection of a statement before its first await. */
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
    if (this.state.kind === 'pending') await this.beginOnce(this.state, sql);
    const state = this.state;
    switch (state.kind) {
      case 'lost':
        throw state.reason;
      case 'open':
        return await this.queryInTransaction(state, kind, sql, parameters, isStructured);
      default:
        this.assertNotReleased();
        return await this.queryAlone(kind, sql, parameters, isStructured);
    }
  }

  /** It may have been released while a transaction began. */
  private assertNotReleased(): void {
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
  }

  private async queryAlone(
    kind: StatementKind,
    ...statement: [string, unknown[], boolean]
  ): Promise<unknown> {
    const { connections } = this.driver;
    if (kind === 'alter') this.dedicated ??= await connections.openDedicated();
    const access = kind === 'read' ? 'read' : 'write';
    const pooled = await connections.acquire(access, this.dedicated);
    let isBroken = false;
    try {
      const result = await this.run(pooled.connection, ...statement);
      if (kind !== 'read') connections.assertSameStore();
      return result;
    } catch (error) {
      isBroken = error instanceof StoreUnavailableError;
      throw error;
    } finally {
      await pooled.release(isBroken);
    }
  }

  private async queryInTransaction(
    transaction: OpenTransaction,
    kind: StatementKind,
    ...statement: [string, unknown[], boolean]
  ): Promise<unknown> {
    if (kind === 'alter') transaction.isAltered = true;
    try {
      return await this.run(transaction.pooled.connection, ...statement);
    } catch (error) {
      if (this.state === transaction) await this.detectRollback(transaction, error);
      const state = this.state;
      throw state.kind === 'lost' && state.reason.cause !== error ? state.reason : error;
    }
  }

  /** After some errors SQLite has rolled the whole transaction back: the statements that follow must not be committed alone. */
  private async detectRollback(transaction: OpenTransaction, cause: unknown): Promise<void> {
    const isOpen = await transaction.pooled.connection.exec('BEGIN').then(
      () => false,
      () => true,
    );
    if (isOpen || this.state !== transaction) return;
    const reason = new StoreUnavailableError('', [], cause as Error);
    reason.cause = cause;
    await this.end(transaction, { kind: 'lost', reason });
  }

  private async run(
    connection: SqliteConnection,
    sql: string,
    parameters: unknown[],
    isStructured: boolean,
  ): Promise<unknown> {
    const values = parameters.map(bindable);
    const execute = async (text: string): Promise<unknown> => {
      this.calls = callsOn(connection);
      return (await super.query(text, values, isStructured)) as unknown;
    };
    try {
      const result = await execute(sql);
      // What query builders read. A caller of query() has the rows as the driver gives them.
      if (!(result instanceof QueryResult) || classifyStatement(sql) !== 'read') return result;
      const columns = findRoundedColumns(result.records);
      return columns.length === 0 ? result : await execute(withExactIntegers(sql, columns));
    } catch (error) {
      if (!(error instanceof QueryFailedError)) throw error;
      const cause = connection.dropPagesAfter(error.driverError as Error);
      if (isStoreFailure(cause)) {
        throw new StoreUnavailableError(error.query, error.parameters, cause);
      }
      throw (await this.explainConstraint(connection, error.query, cause, values)) ?? error;
    }
  }

  /** The constraint that a statement has violated, if that is why it failed. */
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
    // Before the first await, so that the log can say who has begun it.
    const timer = new TransactionTimer();
    if (this.state.kind === 'lost') {
      // Its caller will roll it back.
      this.transactionDepth++;
      throw this.state.reason;
    }
    await this.broadcaster.broadcast('BeforeTransactionStart');
    if (this.transactionDepth === 0) {
      assertOutsideTransaction();
      this.state = { kind: 'pending', timer };
      this.isTransactionActive = true;
    } else {
      const savepoint = `SAVEPOINT typeorm_${this.transactionDepth}`;
      if (this.state.kind === 'pending') await this.beginOnce(this.state, savepoint);
      await this.executeInTransaction(savepoint);
    }
    this.transactionDepth++;
    await this.broadcaster.broadcast('AfterTransactionStart');
  }

  override async commitTransaction(): Promise<void> {
    if (!this.isTransactionActive) throw new TransactionNotStartedError();
    await this.broadcaster.broadcast('BeforeTransactionCommit');
    if (this.transactionDepth > 1) {
      await this.executeInTransaction(`RELEASE SAVEPOINT typeorm_${this.transactionDepth - 1}`);
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
      await this.executeInTransaction('COMMIT');
    } catch (error) {
      this.limitTime(state);
      throw error;
    }
    try {
      this.driver.connections.assertSameStore();
    } finally {
      await this.giveBack(state, IDLE);
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
      await this.executeInTransaction(`ROLLBACK TO SAVEPOINT typeorm_${this.transactionDepth - 1}`);
      this.transactionDepth--;
    } else {
      if (this.state.kind === 'pending') await this.state.begun;
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
      await this.driver.connections.closeDedicated(this.dedicated);
    }
    await super.release();
  }

  override async beforeMigration(): Promise<void> {
    this.timeLimit = undefined;
    await super.beforeMigration();
  }

  private beginOnce(transaction: PendingTransaction, sql: string): Promise<void> {
    return (transaction.begun ??= this.begin(transaction, sql));
  }

  /** @param sql the first statement */
  private async begin(transaction: PendingTransaction, sql: string): Promise<void> {
    const { timer } = transaction;
    let pooled: PooledConnection;
    try {
      pooled = await this.driver.connections.acquire('transaction', this.dedicated, timer.origin);
    } catch (error) {
      // The next statement tries again.
      delete transaction.begun;
      throw error;
    }
    const open: OpenTransaction = { kind: 'open', timer, pooled, isAltered: false };
    this.state = open;
    if (this.isReleased) {
      await this.end(open, IDLE);
      return;
    }
    this.limitTime(open);
    try {
      if (!pooled.hasBegun) await pooled.connection.exec(BEGIN);
      else if (!LOCKS.test(sql)) await pooled.connection.exec(`ROLLBACK; ${BEGIN}`);
    } catch (error) {
      if (this.state !== open) return;
      const reason = new StoreUnavailableError(BEGIN, [], error as Error);
      await this.end(open, { kind: 'lost', reason });
    }
  }

  /** A statement that controls the transaction. */
  private async executeInTransaction(sql: string): Promise<void> {
    const { state } = this;
    if (state.kind === 'lost') throw state.reason;
    if (state.kind !== 'open') throw new TransactionNotStartedError();
    try {
      await state.pooled.connection.exec(sql);
    } catch (error) {
      const current = this.state;
      if (current.kind === 'lost') throw current.reason;
      if (isStoreFailure(error)) throw new StoreUnavailableError(sql, [], error as Error);
      const { entityMetadatas } = this.connection;
      // A foreign key that is checked at the end of the transaction.
      throw (
        toConstraintError(error, entityMetadatas) ?? new QueryFailedError(sql, [], error as Error)
      );
    }
  }

  private limitTime(transaction: OpenTransaction): void {
    transaction.timer.start(this.timeLimit, (reason) => {
      if (this.state !== transaction) return;
      transaction.pooled.connection.interrupt();
      void this.end(transaction, { kind: 'lost', reason });
    });
  }

  /** Rolls back what is not committed, and lets the next one write. */
  private async end(transaction: OpenTransaction, next: TransactionState): Promise<void> {
    this.state = next;
    await transaction.pooled.connection.exec('ROLLBACK').catch((error: unknown) => {
      // It has been rolled back already, unless the connection is not what it was.
      if (getErrorCode(error) !== 'SQLITE_ERROR') transaction.isAltered = true;
    });
    await this.giveBack(transaction, next);
  }

  private async giveBack(transaction: OpenTransaction, next: TransactionState): Promise<void> {
    this.state = next;
    transaction.timer.stop();
    await transaction.pooled.release(transaction.isAltered);
  }

  private forgetTransaction(): void {
    this.state = IDLE;
    this.isTransactionActive = false;
    this.transactionDepth = 0;
  }
}

const ISOLATION_LEVELS = new Set<IsolationLevel>(['SERIALIZABLE', 'READ UNCOMMITTED']);

const REMOVAL = /^\s*DELETE\b/i;
/** The table that a statement of TypeORM writes to. */
const WRITTEN_TABLE = /^\s*(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM)\s+"([^"]+)"/i;

type Work<Result> = (manager: EntityManager) => Promise<Result>;

/** TypeORM's manager, which records that code runs inside a transaction, so that a write there that is not part of it can be refused. */
export class SqliteEntityManager extends StoreEntityManager {
  override transaction<Result>(work: Work<Result>): Promise<Result>;
  override transaction<Result>(isolation: IsolationLevel, work: Work<Result>): Promise<Result>;
  override async transaction<Result>(
    first: IsolationLevel | Work<Result>,
    second?: Work<Result>,
  ): Promise<Result> {
    const tracked =
      (work: Work<Result>): Work<Result> =>
      (manager) =>
        trackTransaction(() => work(manager));
    if (typeof first === 'function') return await super.transaction(tracked(first));
    if (second === undefined) throw new TypeORMError('A transaction needs a function');
    return await super.transaction(first, tracked(second));
  }
}

/** sqlite3 would store NULL for a bigint. */
function bindable(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function isUnsafe(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** The columns in which an int64 may have been rounded. */
function findRoundedColumns(rows: readonly Record<string, unknown>[]): string[] {
  const names = new Set<string>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) {
      if (isUnsafe(value) && Math.abs(value as number) <= 2 ** 63) names.add(name);
    }
  }
  return [...names];
}

/** The same query with the integers of these columns as text; large floating-point numbers stay what they are. */
function withExactIntegers(sql: string, columns: readonly string[]): string {
  const exact = columns
    .map((name) => `"${name.replaceAll('"', '""')}"`)
    .map(
      (name) =>
        `CASE typeof(${name}) WHEN 'integer' THEN CAST(${name} AS TEXT) ELSE ${name} END AS ${name}`,
    );
  return `SELECT *, ${exact.join(', ')} FROM (${sql})`;
}
