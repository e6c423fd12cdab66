import { dirname, resolve } from 'node:path';
import type { Database } from 'sqlite3';
import {
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
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { codeOf } from '../data-source/error-code.js';
import type { StoreExtra, TimeLimited } from '../data-source/store-data-source.js';
import { StoreEntityManager } from '../data-source/store-entity-manager.js';
import { StoreUnavailableError } from '../store-unavailable.error.js';
import { TransactionTimer } from '../data-source/transaction-timer.js';
import { makeFolder } from './sqlite-permissions.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { IN_MEMORY, type Lease, SqliteConnections } from './sqlite-connection-pool.js';
import { isStoreFailure } from './sqlite-errors.js';
import { kindOf, type StatementKind } from './statement-kind.js';
import { assertOutsideTransaction, runInTransaction } from './fair-write-lock.js';

// All that depends on the internals of TypeORM's SQLite driver. sqlite-driver.spec.ts fails when an
// upgrade changes them.

const INTEGER_TYPES = new Set<unknown>(['int', 'integer', 'smallint', 'mediumint', Number]);

/**
 * TypeORM's driver with a connection for each query runner that works, where TypeORM has one for
 * all, on which the transactions of different callers run into each other.
 */
export class StoreSqliteDriver extends SqliteDriver {
  private opened: SqliteConnections | undefined;

  get connections(): SqliteConnections {
    if (this.opened === undefined) throw new TypeORMError('The store is not open');
    return this.opened;
  }

  override createQueryRunner(): StoreSqliteQueryRunner {
    return new StoreSqliteQueryRunner(this);
  }

  protected override async createDatabaseConnection(): Promise<Database> {
    const { database, busyTimeout = 0 } = this.options;
    if (database !== IN_MEMORY) await makeFolder(dirname(resolve(database)));
    this.opened = await SqliteConnections.open(database, busyTimeout);
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

/** The calls on statements that stay prepared: a step on the thread less for each, while others wait for their turn. */
function callsOn(connection: SqliteConnection): SqliteCalls {
  const call =
    (method: 'run' | 'all'): SqliteCall =>
    (sql, parameters, callback) =>
      connection.prepare(sql, parameters, callback)[method](parameters, callback);
  return { run: call('run'), all: call('all') };
}

interface OpenTransaction extends Lease {
  readonly timer: TransactionTimer;
  /** Whether its connection was altered, so that no other query runner may use it. */
  isAltered?: boolean;
}

/** TypeORM's query runner on borrowed connections: one for a statement, or for a whole transaction. */
export class StoreSqliteQueryRunner extends SqliteQueryRunner implements TimeLimited {
  private transaction: OpenTransaction | undefined;
  /** The timer of a transaction that has no statement yet, and so keeps nobody from writing. */
  private pending: TransactionTimer | undefined;
  private beginning: Promise<void> | undefined;
  /** Why the transaction has ended though its caller did not end it. */
  private lost: Error | undefined;
  /** Of a caller who has altered the connection. */
  private own: SqliteConnection | undefined;
  private calls: SqliteCalls | undefined;
  private isControlling = false;
  private timeLimit: number | undefined;

  constructor(override driver: StoreSqliteDriver) {
    super(driver);
    this.timeLimit = (driver.options.extra as StoreExtra).transactionTimeoutMs;
  }

  setTimeLimit(limit: number | undefined): void {
    this.timeLimit = limit;
  }

  /** TypeORM asks for the connection of the statement that it is about to run. */
  override connect(): Promise<SqliteCalls | undefined> {
    return Promise.resolve(this.calls);
  }

  override async query(
    sql: string,
    parameters: unknown[] = [],
    isStructured = false,
  ): ReturnType<SqliteQueryRunner['query']> {
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
    if (this.lost !== undefined) throw this.lost;
    const kind = kindOf(sql);
    if (kind === 'control' && !this.isControlling) {
      throw new TypeORMError(
        'A transaction is begun and ended by dataSource.transaction() or by the methods of a query runner, not by a statement',
      );
    }
    // begin() does it, before the first statement.
    if (sql === BEGIN) return undefined;
    if (this.pending !== undefined) {
      const isEnd = sql === 'COMMIT' || sql === 'ROLLBACK';
      if (isEnd && this.beginning === undefined) return undefined;
      await this.beginOnce(this.pending, sql);
      if (this.transaction === undefined) throw this.endedEarly();
    }
    return this.transaction === undefined
      ? await this.queryAlone(kind, sql, parameters, isStructured)
      : await this.queryInTransaction(this.transaction, kind, sql, parameters, isStructured);
  }

  private async queryAlone(
    kind: StatementKind,
    ...statement: [string, unknown[], boolean]
  ): Promise<unknown> {
    const { connections } = this.driver;
    if (kind === 'alter') this.own ??= await connections.openOwn();
    const lease = await connections.lend(kind === 'read' ? 'read' : 'write', this.own);
    let isClean = true;
    try {
      const result = await this.run(lease.connection, ...statement);
      if (kind !== 'read') connections.assertSameFile();
      return result;
    } catch (error) {
      isClean = !(error instanceof StoreUnavailableError);
      throw error;
    } finally {
      await lease.release(isClean);
    }
  }

  private async queryInTransaction(
    transaction: OpenTransaction,
    kind: StatementKind,
    ...statement: [string, unknown[], boolean]
  ): Promise<unknown> {
    if (kind === 'alter') transaction.isAltered = true;
    try {
      return await this.run(transaction.connection, ...statement);
    } catch (error) {
      if (this.lost !== undefined) throw this.lost;
      if (this.transaction === transaction) await this.detectRollback(transaction, error);
      throw error;
    }
  }

  /** After some errors SQLite has rolled the whole transaction back: what follows must not be committed alone. */
  private async detectRollback({ connection }: OpenTransaction, cause: unknown): Promise<void> {
    const isOpen = await connection.exec('BEGIN').then(
      () => false,
      () => true,
    );
    if (isOpen || this.lost !== undefined) return;
    this.lost = new StoreUnavailableError('', [], cause as Error);
    await this.end();
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
      if (!(result instanceof QueryResult) || kindOf(sql) !== 'read') return result;
      const columns = roundedColumns(result.records);
      return columns.length === 0 ? result : await execute(withExactIntegers(sql, columns));
    } catch (error) {
      if (!(error instanceof QueryFailedError) || !isStoreFailure(error)) throw error;
      throw new StoreUnavailableError(error.query, error.parameters, error.driverError as Error);
    }
  }

  override async startTransaction(isolation?: IsolationLevel): Promise<void> {
    if (this.lost !== undefined) {
      // Its caller will roll it back.
      this.transactionDepth++;
      throw this.lost;
    }
    if (this.transaction === undefined && this.pending === undefined) {
      assertOutsideTransaction();
      this.pending = new TransactionTimer();
    }
    try {
      await this.control(() => super.startTransaction(isolation));
    } catch (error) {
      if (this.transactionDepth === 0) {
        this.isTransactionActive = false;
        await this.end();
      }
      throw error;
    }
  }

  private beginOnce(timer: TransactionTimer, sql: string): Promise<void> {
    return (this.beginning ??= this.begin(timer, sql).finally(() => (this.beginning = undefined)));
  }

  /** @param sql the first statement */
  private async begin(timer: TransactionTimer, sql: string): Promise<void> {
    const lease = await this.driver.connections.lend('transaction', this.own, timer.origin);
    this.transaction = { ...lease, timer };
    if (this.isReleased) {
      await this.end();
      return;
    }
    this.limitTime();
    try {
      if (!lease.hasBegun) await lease.connection.exec(BEGIN_LOCKED);
      else if (!LOCKS.test(sql)) await lease.connection.exec(`ROLLBACK; ${BEGIN_LOCKED}`);
    } catch (error) {
      this.lost ??= new StoreUnavailableError(BEGIN_LOCKED, [], error as Error);
      await this.end();
    }
    this.pending = undefined;
  }

  private endedEarly(): Error {
    return this.lost ?? new QueryRunnerAlreadyReleasedError();
  }

  override async commitTransaction(): Promise<void> {
    const isOutermost = this.transactionDepth === 1;
    if (isOutermost) this.transaction?.timer.stop();
    try {
      await this.control(() => super.commitTransaction());
    } catch (error) {
      this.limitTime();
      throw error;
    }
    if (!isOutermost) return;
    try {
      this.driver.connections.assertSameFile();
    } finally {
      await this.giveBack();
    }
  }

  override async rollbackTransaction(): Promise<void> {
    if (this.lost !== undefined) {
      this.transactionDepth = Math.max(0, this.transactionDepth - 1);
      if (this.transactionDepth > 0) return;
      this.isTransactionActive = false;
      this.lost = undefined;
      return;
    }
    const isOutermost = this.transactionDepth === 1;
    try {
      await this.control(() => super.rollbackTransaction());
    } catch (error) {
      if (isOutermost) await this.end();
      throw error;
    }
    if (isOutermost) await this.giveBack();
  }

  override async release(): Promise<void> {
    if (this.isReleased) return;
    this.isReleased = true;
    await this.end();
    if (this.own !== undefined) await this.driver.connections.closeOwn(this.own);
    await super.release();
  }

  override async beforeMigration(): Promise<void> {
    this.timeLimit = undefined;
    await super.beforeMigration();
  }

  private async control(step: () => Promise<void>): Promise<void> {
    this.isControlling = true;
    await step().finally(() => (this.isControlling = false));
  }

  private limitTime(): void {
    const { transaction } = this;
    transaction?.timer.start(this.timeLimit, (error) => {
      this.lost = error;
      transaction.connection.interrupt();
      void this.end();
    });
  }

  /** Rolls back what is not committed, and lets the next one write. */
  private async end(): Promise<void> {
    const { transaction } = this;
    if (transaction !== undefined) {
      await transaction.connection.exec('ROLLBACK').catch((error: unknown) => {
        // It has been rolled back already, unless the connection is not what it was.
        if (codeOf(error) !== 'SQLITE_ERROR') transaction.isAltered = true;
      });
    }
    await this.giveBack();
  }

  private async giveBack(): Promise<void> {
    const { transaction } = this;
    this.pending = undefined;
    if (transaction === undefined) return;
    this.transaction = undefined;
    transaction.timer.stop();
    await transaction.release(transaction.isAltered !== true);
  }
}

type Work<Result> = (manager: EntityManager) => Promise<Result>;

/** TypeORM's manager, which records that code runs inside a transaction, so that a write there that is not part of it can be refused. */
export class SqliteEntityManager extends StoreEntityManager {
  override transaction<Result>(work: Work<Result>): Promise<Result>;
  override transaction<Result>(isolation: IsolationLevel, work: Work<Result>): Promise<Result>;
  override async transaction<Result>(
    first: IsolationLevel | Work<Result>,
    second?: Work<Result>,
  ): Promise<Result> {
    const note =
      (work: Work<Result>): Work<Result> =>
      (manager) =>
        runInTransaction(() => work(manager));
    if (typeof first === 'function') return await super.transaction(note(first));
    if (second === undefined) throw new TypeORMError('A transaction needs a function');
    return await super.transaction(first, note(second));
  }
}

/**
 * The same statement, of which TypeORM gives the rows that it returns: it gives none of a statement
 * that begins with INSERT, UPDATE or DELETE.
 */
export function withRows(sql: string): string {
  return `\n${sql}`;
}

/** How TypeORM begins a transaction. */
const BEGIN = 'BEGIN TRANSACTION';
/** A lock for writing from the start: one that is taken only at the first write may come too late. */
const BEGIN_LOCKED = 'BEGIN IMMEDIATE';
/** What takes that lock before it reads anything. */
const LOCKS = /^\s*(?:insert|update|delete|replace)\b/i;

/** sqlite3 would store NULL for a bigint. */
function bindable(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function isUnsafe(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** The columns in which an int64 may have been rounded. */
function roundedColumns(rows: readonly Record<string, unknown>[]): string[] {
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
