import { type DataSource, QueryResult, TypeORMError } from 'typeorm';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import { SqliteDriver } from 'typeorm/driver/sqlite/SqliteDriver.js';
import { SqliteQueryRunner } from 'typeorm/driver/sqlite/SqliteQueryRunner.js';
import { QueryRunnerAlreadyReleasedError } from 'typeorm/error/QueryRunnerAlreadyReleasedError.js';
import { TransactionNotStartedError } from 'typeorm/error/TransactionNotStartedError.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { explainFailure } from '../data-source/driver-errors.js';
import type { StoreExtra, TimeLimited } from '../data-source/store-data-source.js';
import { TransactionTimer } from '../data-source/transaction-timer.js';
import type { SqliteCalls } from './sqlite-connection.js';
import { SqliteConnections, type Turn } from './sqlite-connections.js';
import { sqliteErrors } from './sqlite-errors.js';
import { SQLITE_TYPES } from './sqlite-schema-steps.js';

// Everything that depends on internals of TypeORM's SQLite driver. The tests in test/sqlite and
// test/modules fail if an upgrade changes them.

/** The column types that TypeORM does not know for SQLite. */
const OWN_TYPES = Object.keys(SQLITE_TYPES) as SqliteDriver['supportedDataTypes'];

/**
 * TypeORM's driver, but with a connection for each active query runner. TypeORM has one for all, on
 * which the transactions of different callers mix.
 */
export class StoreSqliteDriver extends SqliteDriver {
  private opened: SqliteConnections | undefined;

  constructor(dataSource: DataSource) {
    super(dataSource);
    this.supportedDataTypes.push(...OWN_TYPES);
  }

  get connections(): SqliteConnections {
    if (this.opened === undefined) throw new TypeORMError('The store is not open');
    return this.opened;
  }

  override normalizeType(column: Parameters<SqliteDriver['normalizeType']>[0]): string {
    const { isGenerated, generationStrategy } = column as Partial<ColumnMetadata>;
    // SQLite counts up only keys of this type.
    if (isGenerated === true && generationStrategy === 'increment') return 'integer';
    return SQLITE_TYPES[String(column.type)] ?? super.normalizeType(column);
  }

  override createQueryRunner(): StoreSqliteQueryRunner {
    return new StoreSqliteQueryRunner(this, this.connections);
  }

  override async connect(): Promise<void> {
    this.opened = await SqliteConnections.open(this.options.database);
  }

  override async disconnect(): Promise<void> {
    await this.connections.close();
  }

  /** Reads an int64 as a decimal string, like TypeORM's other drivers. */
  override prepareHydratedValue(value: unknown, column: ColumnMetadata): unknown {
    const isInt64 = column.type === 'bigint' && typeof value === 'number';
    return super.prepareHydratedValue(isInt64 ? String(value) : value, column) as unknown;
  }
}

const COMMENTS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)+/;
const READS = /^(?:select|values|explain|with\b(?![^]*\b(?:insert|update|delete|replace)\b))\b/i;
/** Statements that may change their connection. */
const ALTERS = /^(?:pragma|attach|detach|create\s+temp(?:orary)?)\b/i;
const CONTROLS = /^(?:begin|commit|end|rollback|savepoint|release)\b/i;
/** How often a statement that takes too long is interrupted until it ends, in milliseconds. */
const INTERRUPT_MS = 100;

/** The statement by which TypeORM begins a transaction. */
const BEGIN = 'BEGIN TRANSACTION';
/** The statements by which TypeORM begins and ends transactions. */
const BY_TYPEORM =
  /^(?:BEGIN TRANSACTION|COMMIT|ROLLBACK|(?:SAVEPOINT|RELEASE SAVEPOINT|ROLLBACK TO SAVEPOINT) typeorm_\d+)$/;

/**
 * TypeORM's query runner, each with a connection of its own. Its statements run one after another.
 * The first one takes a turn to read or to write, and the turn ends when no transaction is open. A
 * runner that has lost its transaction refuses everything until it is released.
 */
export class StoreSqliteQueryRunner extends SqliteQueryRunner implements TimeLimited {
  private timeLimit = (this.driver.options.extra as StoreExtra).transactionTimeoutMs;
  /** Settles when all statements so far have ended. */
  private last: Promise<unknown> = Promise.resolve();
  private turn: Turn | undefined;
  private timer: TransactionTimer | undefined;
  /** The timer of the transaction that begins. */
  private begun: TransactionTimer | undefined;
  private isInTransaction = false;
  /** How many transactions have ended. */
  private ended = 0;
  /** Whether the connection was altered, so that no other query runner may use it afterwards. */
  private isAltered = false;
  /** Why the transaction was lost. */
  private lost: Error | undefined;

  constructor(
    driver: SqliteDriver,
    private readonly connections: SqliteConnections,
  ) {
    super(driver);
  }

  setTimeLimit(limit: number | undefined): void {
    this.timeLimit = limit;
  }

  /** TypeORM calls this for the connection of a statement. */
  override connect(): Promise<SqliteCalls | undefined> {
    return Promise.resolve(this.turn?.connection.calls);
  }

  override async query(
    sql: string,
    parameters: unknown[] = [],
    isStructured = false,
  ): ReturnType<SqliteQueryRunner['query']> {
    const { ended } = this;
    const timer = (sql === BEGIN ? this.begun : undefined) ?? new TransactionTimer();
    return await this.inOrder(async () => {
      if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
      if (this.lost !== undefined) throw this.lost;
      // The transaction of the statement has ended while the statement waited.
      if (ended !== this.ended) throw new TransactionNotStartedError();
      return await this.execute(sql, parameters.map(toBindable), isStructured, timer);
    });
  }

  override async startTransaction(isolation?: IsolationLevel): Promise<void> {
    // Before any await, so that its stack shows the caller.
    this.begun = new TransactionTimer();
    await super.startTransaction(isolation);
  }

  override async release(): Promise<void> {
    if (this.isReleased) return;
    this.isReleased = true;
    await this.inOrder(() => this.endTurn());
    await super.release();
  }

  /** Migrations have no time limit. */
  override async beforeMigration(): Promise<void> {
    this.timeLimit = undefined;
    await super.beforeMigration();
  }

  /** Executes work once the work before it has ended. */
  private inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.last.then(work);
    this.last = result.catch(() => undefined);
    return result;
  }

  private async execute(
    sql: string,
    values: unknown[],
    isStructured: boolean,
    timer: TransactionTimer,
  ): Promise<unknown> {
    const text = sql.replace(COMMENTS, '');
    const [isRead, isControl] = [READS.test(text), CONTROLS.test(text)];
    if (isControl && !BY_TYPEORM.test(sql)) {
      throw new TypeORMError(
        'A transaction is begun and ended by dataSource.transaction() or by the methods of a query runner, not by a statement',
      );
    }
    try {
      this.turn ??= await this.beginTurn(isRead ? 'read' : 'write', timer);
      this.isAltered ||= ALTERS.test(text);
      // A commit that is on its way is waited for.
      if (sql === 'COMMIT') this.timer?.stop();
      const result = await this.send(sql, values, isStructured, isRead);
      if (sql === BEGIN) this.isInTransaction = true;
      else if (sql === 'COMMIT' || sql === 'ROLLBACK') this.endTransaction();
      if (!isRead && !this.isInTransaction) this.connections.files.assertSame();
      return result;
    } catch (error) {
      const { entityMetadatas } = this.connection;
      const failure = explainFailure(error, text, sqliteErrors, entityMetadatas);
      if (isControl || (await this.isRolledBack())) this.lost ??= failure;
      throw this.lost ?? failure;
    } finally {
      const isOver = !this.isInTransaction && !this.isAltered;
      if (isOver || this.lost !== undefined) await this.endTurn();
    }
  }

  private async beginTurn(access: 'read' | 'write', timer: TransactionTimer): Promise<Turn> {
    const turn = await this.connections.take(access, timer.origin);
    this.timer = timer;
    timer.start(this.timeLimit, (reason) => {
      this.lost = reason;
      turn.connection.interrupt();
      // An interrupt has no effect before the statement has begun.
      const interrupts = setInterval(() => turn.connection.interrupt(), INTERRUPT_MS);
      void this.inOrder(async () => {
        clearInterval(interrupts);
        await this.endTurn();
      });
    });
    return turn;
  }

  private async endTurn(): Promise<void> {
    const { turn } = this;
    if (turn === undefined) return;
    this.timer?.stop();
    const isClean = !this.isInTransaction || (await turn.connection.rollBack());
    this.endTransaction();
    this.turn = undefined;
    await turn.end(isClean && !this.isAltered);
  }

  private endTransaction(): void {
    if (this.isInTransaction) this.ended++;
    this.isInTransaction = false;
  }

  private async send(
    sql: string,
    values: unknown[],
    isStructured: boolean,
    isRead: boolean,
  ): Promise<unknown> {
    // Takes SQLite's lock at once: after a read, SQLite may refuse it for the first write.
    const text = sql === BEGIN ? 'BEGIN IMMEDIATE' : sql;
    const result = (await super.query(text, values, isStructured)) as unknown;
    // Only query builders ask for a structured result. Others get the rows as the driver does.
    if (!isRead || !(result instanceof QueryResult)) return result;
    const exact = withExactIntegers(sql, result.records as Record<string, unknown>[]);
    return exact === undefined ? result : ((await super.query(exact, values, true)) as unknown);
  }

  /**
   * Whether SQLite has rolled back the transaction, as after some errors. Later statements must then
   * not be committed on their own.
   */
  private async isRolledBack(): Promise<boolean> {
    if (!this.isInTransaction || this.turn === undefined) return false;
    // SQLite refuses this inside a transaction.
    return await this.turn.connection.exec('BEGIN').then(
      () => true,
      () => false,
    );
  }
}

/** Converts bigint values, for which sqlite3 would store NULL. */
function toBindable(value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * Writes a query for the same rows in which integers are text, since the driver rounds large ones.
 * Large floating-point numbers stay numbers.
 *
 * @param rows the rows of the query as the driver returned them
 * @returns undefined if the driver has rounded nothing
 */
function withExactIntegers(
  sql: string,
  rows: readonly Record<string, unknown>[],
): string | undefined {
  const rounded = new Set(
    rows.flatMap((row) => Object.keys(row).filter((name) => mayBeRounded(row[name]))),
  );
  if (rounded.size === 0) return undefined;
  const exact = [...rounded]
    .map((name) => `"${name.replaceAll('"', '""')}"`)
    .map(
      (name) =>
        `CASE typeof(${name}) WHEN 'integer' THEN CAST(${name} AS TEXT) ELSE ${name} END AS ${name}`,
    );
  return `SELECT *, ${exact.join(', ')} FROM (${sql})`;
}

/** Whether a value may be an int64 that was rounded. */
function mayBeRounded(value: unknown): boolean {
  return (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    Math.abs(value) <= 2 ** 63
  );
}
