import { type DataSource, QueryResult, TypeORMError } from 'typeorm';
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js';
import { SqliteDriver } from 'typeorm/driver/sqlite/SqliteDriver.js';
import { SqliteQueryRunner } from 'typeorm/driver/sqlite/SqliteQueryRunner.js';
import { ConnectionIsNotSetError } from 'typeorm/error/ConnectionIsNotSetError.js';
import { QueryRunnerAlreadyReleasedError } from 'typeorm/error/QueryRunnerAlreadyReleasedError.js';
import { TransactionNotStartedError } from 'typeorm/error/TransactionNotStartedError.js';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { Send, StoreQueryRunner } from '../engine/engine.js';
import { NoTransactionError } from '../engine/sessions.js';
import { explainFailure } from '../engine/driver-errors.js';
import { sendQuery, TransactionControl } from '../engine/send-query.js';
import { escapeDefault, StoreSchemaBuilder } from '../engine/schema-builder.js';
import type { StoreExtra } from '../engine/store-data-source.js';
import { TransactionTimer } from '../engine/transaction-timer.js';
import { Sequence } from '../engine/sequence.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { divideThreads, SqliteConnections, type Turn } from './sqlite-connections.js';
import { sqliteErrors } from './sqlite-errors.js';
import { SqliteSchemaRunner } from './sqlite-schema-runner.js';
import { SQLITE_TYPES, toSqliteType } from './sqlite-schema-steps.js';
import { readStatement, removeSemicolon, type SqliteStatement } from './sqlite-statement.js';

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
    const { isPrimary, entityMetadata } = column as Partial<ColumnMetadata>;
    const isOnlyKey = isPrimary === true && entityMetadata?.primaryColumns.length === 1;
    return toSqliteType(super.normalizeType(column), isOnlyKey);
  }

  override normalizeDefault(column: ColumnMetadata): string | undefined {
    const value: unknown = column.default;
    const isJson = typeof value === 'object' && value !== null && column.type !== 'simple-array';
    const own = isJson ? `'${JSON.stringify(value)}'` : super.normalizeDefault(column);
    return escapeDefault(own, value);
  }

  override createQueryRunner(): StoreSqliteQueryRunner {
    return new StoreSqliteQueryRunner(this, this.connections);
  }

  override createSchemaBuilder(): StoreSchemaBuilder {
    return new StoreSchemaBuilder(this.connection);
  }

  override async connect(): Promise<void> {
    const { timeLimits, filePageReaders } = this.options.extra as StoreExtra;
    const { database } = this.options;
    this.opened = await SqliteConnections.open(
      database,
      timeLimits,
      divideThreads(filePageReaders),
    );
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

/** The statement by which TypeORM begins a transaction. */
const BEGIN = 'BEGIN TRANSACTION';

const ONE_STATEMENT =
  'SQLite would execute only the first of these statements: send each by a query() of its own';

/** A turn whose timer interrupts the statement after the time limit. */
interface LimitedTurn extends Turn {
  readonly timer: TransactionTimer;
}

/** A call of query(). */
interface Call {
  readonly sql: string;
  readonly parameters: unknown[];
  readonly statement: SqliteStatement;
  /**
   * Whether a query builder calls, which gets exact integers. Other callers get the integers of the
   * driver.
   */
  readonly isStructured: boolean;
  /** The transaction that was open at the call. */
  readonly transaction: LimitedTurn | undefined;
  /** That of the transaction, or else of this statement alone. */
  readonly timer: TransactionTimer;
}

/**
 * TypeORM's query runner. A transaction has its own connection and holds the turn to write. A
 * statement outside of one takes a turn to read or to write for itself. Statements are sent one
 * after another. A runner that has lost its transaction refuses everything until it is released.
 */
export class StoreSqliteQueryRunner extends SqliteSchemaRunner implements StoreQueryRunner {
  private readonly control = new TransactionControl();
  private timeLimit = (this.driver.options.extra as StoreExtra).transactionTimeoutMs;
  private readonly sequence = new Sequence();
  /** The turn of the open transaction. */
  private transaction: LimitedTurn | undefined;
  /** Why the transaction was lost. */
  private abortedBy: Error | undefined;
  /** The timer of the transaction that begins next. */
  private nextTimer: TransactionTimer | undefined;
  /** The connection with settings or temporary objects of this runner. No other caller uses it. */
  private changed: SqliteConnection | undefined;

  constructor(
    driver: SqliteDriver,
    private readonly connections: SqliteConnections,
  ) {
    super(driver);
  }

  setTimeLimit(limit: number | undefined): void {
    this.timeLimit = limit;
  }

  override async query(
    sql: string,
    parameters: unknown[] = [],
    isStructured = false,
  ): ReturnType<SqliteQueryRunner['query']> {
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
    if (!this.connection.isInitialized) throw new ConnectionIsNotSetError('sqlite');
    const call = this.makeCall(sql, parameters, isStructured);
    if (call.statement.kind === 'control') this.control.assertAllowed();
    if (call.statement.isFollowed) throw new TypeORMError(ONE_STATEMENT);
    const send = (): Promise<QueryResult> => this.sequence.execute(() => this.execute(call));
    const result = await sendQuery(this, sql, parameters, send);
    return isStructured ? result : (result.raw as unknown);
  }

  async join<Result>(work: (send: Send) => Promise<Result>): Promise<Result> {
    const { transaction } = this;
    const send: Send = async (sql, parameters) => {
      const call = { ...this.makeCall(sql, [...parameters], true), transaction };
      const { records }: QueryResult<unknown> = await this.execute(call);
      return records;
    };
    return await this.sequence.execute(async () => {
      if (!this.isTransactionActive) throw new NoTransactionError();
      return await work(send);
    });
  }

  private makeCall(sql: string, parameters: unknown[], isStructured: boolean): Call {
    const { transaction } = this;
    const timer = transaction?.timer ?? this.makeTimer(sql);
    return { sql, parameters, statement: readStatement(sql), isStructured, transaction, timer };
  }

  /** Makes the timer of a statement before any await, so that its stack shows the caller. */
  private makeTimer(sql: string): TransactionTimer {
    return (sql === BEGIN ? this.nextTimer : undefined) ?? new TransactionTimer();
  }

  override async startTransaction(isolation?: IsolationLevel): Promise<void> {
    this.nextTimer = new TransactionTimer();
    // Every transaction is serializable. TypeORM would change a setting of the connection to say so.
    const isOmitted = isolation === 'SERIALIZABLE' || isolation === 'READ UNCOMMITTED';
    await this.control.allow(() => super.startTransaction(isOmitted ? undefined : isolation));
  }

  override async commitTransaction(): Promise<void> {
    await this.control.allow(() => super.commitTransaction());
  }

  override async rollbackTransaction(): Promise<void> {
    await this.control.allow(() => super.rollbackTransaction());
  }

  override async release(): Promise<void> {
    if (this.isReleased) return;
    this.isReleased = true;
    await this.sequence.execute(async () => {
      await this.rollBack();
      await this.changed?.close();
    });
    await super.release();
  }

  /** Changes of the schema have no time limit. */
  override async beforeMigration(): Promise<void> {
    this.timeLimit = undefined;
    await super.beforeMigration();
  }

  private async execute(call: Call): Promise<QueryResult> {
    const { transaction } = this;
    const { sql, statement } = call;
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError();
    if (this.abortedBy !== undefined) {
      // It is rolled back already, as a module wants it that handles the error.
      if (sql.startsWith('ROLLBACK')) return new QueryResult();
      throw this.abortedBy;
    }
    const hasEnded = call.transaction !== undefined && call.transaction !== transaction;
    if (hasEnded) throw new TransactionNotStartedError();
    if (transaction !== undefined) return await this.executeWithin(transaction, call);
    if (sql === BEGIN) return await this.begin(call);
    if (statement.kind === 'control') throw new TransactionNotStartedError();
    return await this.executeAlone(call);
  }

  private async begin(call: Call): Promise<QueryResult> {
    try {
      this.transaction = await this.takeTurn('write', call.timer, (reason) => this.expire(reason));
    } catch (error) {
      // The statements after it must not be committed one by one.
      this.abortedBy = this.toError(error, call);
      throw this.abortedBy;
    }
    // Takes SQLite's lock at once: after a read, SQLite may refuse it for the first write.
    return await this.executeWithin(this.transaction, { ...call, sql: 'BEGIN IMMEDIATE' });
  }

  private async executeWithin(transaction: LimitedTurn, call: Call): Promise<QueryResult> {
    const { sql, statement } = call;
    const { connection } = transaction;
    const isEnd = sql === 'COMMIT' || sql === 'ROLLBACK';
    try {
      // Once COMMIT was sent, the time limit must not interrupt it: its outcome would be unknown.
      if (isEnd) transaction.timer.stop();
      const result = await this.send(connection, call);
      if (sql === 'COMMIT') this.connections.files.assertSame();
      if (isEnd) await this.endTransaction(transaction);
      return result;
    } catch (error) {
      const failure = transaction.timer.expired ?? this.toError(error, call);
      // SQLite itself rolls back after some errors. Later statements must then not be committed on
      // their own.
      if (statement.kind === 'control' || (await tryToBegin(connection))) {
        this.abortedBy = failure;
        await this.rollBack();
      }
      throw failure;
    }
  }

  private async executeAlone(call: Call): Promise<QueryResult> {
    const isRead = call.statement.kind === 'read';
    const turn = await this.takeTurn(isRead ? 'read' : 'write', call.timer);
    try {
      const result = await this.send(turn.connection, call);
      if (!isRead) this.connections.files.assertSame();
      return result;
    } catch (error) {
      throw turn.timer.expired ?? this.toError(error, call);
    } finally {
      await this.endTurn(turn);
    }
  }

  private async takeTurn(
    access: 'read' | 'write',
    timer: TransactionTimer,
    onExpiry: (reason: Error) => void = () => undefined,
  ): Promise<LimitedTurn> {
    const turn = await this.connections.take(access, timer.origin, this.changed);
    timer.start(this.timeLimit, onExpiry, () => turn.connection.interrupt());
    return { ...turn, timer };
  }

  private expire(reason: Error): void {
    this.abortedBy = reason;
    // Nothing may be sent to the connection before the interrupted statement has ended.
    void this.sequence.execute(() => this.rollBack());
  }

  /** Rolls the transaction back, if it is still open. */
  private async rollBack(): Promise<void> {
    const { transaction } = this;
    if (transaction === undefined) return;
    transaction.timer.stop();
    await this.endTransaction(transaction, await transaction.connection.rollBack());
  }

  private async endTransaction(transaction: LimitedTurn, isClean?: boolean): Promise<void> {
    this.transaction = undefined;
    await this.endTurn(transaction, isClean);
  }

  /** @param isClean whether the connection has no transaction open */
  private async endTurn(turn: LimitedTurn, isClean = true): Promise<void> {
    const isChanged = turn.connection === this.changed;
    if (!isClean && isChanged) this.changed = undefined;
    const intact = isChanged ? 'kept' : 'shared';
    turn.timer.stop();
    await turn.end(isClean ? intact : 'closed');
  }

  private async send(connection: SqliteConnection, call: Call): Promise<QueryResult> {
    const { statement } = call;
    if (statement.kind !== 'write') return await this.sendNow(connection, call);
    const { replacedRows } = this.connections;
    return await replacedRows.write(connection, statement, () => this.sendNow(connection, call));
  }

  private async sendNow(connection: SqliteConnection, call: Call): Promise<QueryResult> {
    const { sql, statement } = call;
    const values = call.parameters.map(toBindable);
    if (statement.kind === 'setting') this.changed = connection;
    const result = new QueryResult();
    // TypeORM writes its statements in this way, and reads the number of rows that they change.
    if (/^(?:INSERT|UPDATE|DELETE) /.test(sql) && !statement.returnsRows) {
      const { lastID, changes } = await connection.run(sql, values);
      result.affected = changes;
      // TypeORM reads a generated key here.
      result.raw = sql.startsWith('INSERT ') ? lastID : undefined;
      return result;
    }
    const rows = await readRows(connection, call, values);
    if (statement.verb === 'create' && (await hasTemporaryObjects(connection))) {
      this.changed = connection;
    }
    result.records = rows;
    result.raw = rows;
    if (statement.returnsRows) {
      result.affected = rows.length;
      // This is what TypeORM returns on PostgreSQL.
      if (/^(?:update|delete)$/.test(statement.verb)) result.raw = [rows, rows.length];
    }
    return result;
  }

  private toError(error: unknown, { sql, parameters }: Call): Error {
    const { entityMetadatas } = this.connection;
    return explainFailure(error, sql, parameters, sqliteErrors, entityMetadatas);
  }
}

/** Whether a connection has tables, views or triggers that other connections do not have. */
async function hasTemporaryObjects(connection: SqliteConnection): Promise<boolean> {
  const found = await connection.all('SELECT 1 FROM sqlite_temp_schema LIMIT 1');
  return found.length > 0;
}

/** Begins a transaction, to learn whether none is open. The caller must roll it back. */
async function tryToBegin(connection: SqliteConnection): Promise<boolean> {
  // SQLite refuses this inside a transaction.
  return await connection.exec('BEGIN').then(
    () => true,
    () => false,
  );
}

/**
 * Converts bigint values, for which sqlite3 would store NULL. One that a number would round is sent
 * as text, which SQLite compares as a number only with a column of numbers, not with an expression.
 * As with any number, sqlite3 sends one beyond 32 bits as REAL, so a column of text stores it with
 * `.0`.
 */
function toBindable(value: unknown): unknown {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

type Rows = Record<string, unknown>[];

async function readRows(
  connection: SqliteConnection,
  { sql, statement, isStructured }: Call,
  values: readonly unknown[],
): Promise<Rows> {
  if (statement.verb === 'explain') return await connection.explain(sql, values);
  const isExact = isStructured && statement.kind === 'read';
  return await (isExact ? readExactly(connection, sql, values) : connection.all(sql, values));
}

/**
 * Reads rows with exact integers, as text if they are large. The driver rounds these, so the
 * columns where it may have done so are read again. If columns share a name, the rows stay rounded:
 * the driver returns the last of these columns, but a query around this one would read the first.
 */
async function readExactly(
  connection: SqliteConnection,
  sql: string,
  values: readonly unknown[],
): Promise<Rows> {
  const first = await connection.all<Rows[number]>(sql, values);
  const asText = new Set<string>();
  for (let rows = first; ; rows = await connection.all(selectAsText(sql, asText), values)) {
    // SQLite renames the columns in a subquery that share a name, except for the first.
    if (countColumns(rows) > countColumns(first)) return first;
    const rounded = findRounded(rows).filter((name) => !asText.has(name));
    if (rounded.length === 0) return rows;
    // Rows may have been added since the first reading, so another column may be rounded now.
    for (const name of rounded) asText.add(name);
  }
}

function countColumns([row = {}]: Rows): number {
  return Object.keys(row).length;
}

/** Writes a query for the same rows in which large integers are text. Other numbers stay numbers. */
function selectAsText(sql: string, columns: Iterable<string>): string {
  const exact = Array.from(columns, (column) => {
    const name = `"${column.replaceAll('"', '""')}"`;
    const isLarge = `typeof(${name}) = 'integer' AND ${name} NOT BETWEEN ${Number.MIN_SAFE_INTEGER} AND ${Number.MAX_SAFE_INTEGER}`;
    return `CASE WHEN ${isLarge} THEN CAST(${name} AS TEXT) ELSE ${name} END AS ${name}`;
  });
  // Of two columns with one name, sqlite3 returns the last one. The text may end with a comment.
  return `SELECT *, ${exact.join(', ')} FROM (${removeSemicolon(sql)}\n)`;
}

/** Finds the columns in which an int64 may have been rounded. */
function findRounded(rows: Rows): string[] {
  const rounded = new Set<string>();
  for (const row of rows) {
    for (const [name, value] of Object.entries(row)) if (mayBeRounded(value)) rounded.add(name);
  }
  return [...rounded];
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
