import type { Pool, PoolClient, QueryConfig } from 'pg';
import type { EntityManager, ObjectLiteral } from 'typeorm';
import {
  type BulkStatements,
  type BulkTable,
  type Change,
  type Comparison,
  type Fault,
  type Page,
  parametersOf,
  type Removal,
  type WrittenPage,
} from '../batching/bulk-table.js';
import type { ConstraintError } from '../constraint.error.js';
import type { EntityColumns, RawRow, Values } from '../batching/entity-columns.js';
import { transactionOf } from '../data-source/open-transaction.js';
import { constraintOf, isLocked, isRowError } from './postgres-errors.js';
import { type NamedStatement, PostgresSql } from './postgres-sql.js';
import type { Semaphore } from './semaphore.js';
import { ANSWER_MARGIN_MS, STATEMENT_TIMEOUT_MS } from './time-limits.js';

type Query = <Row extends ObjectLiteral>(
  statement: NamedStatement,
  values: unknown[],
) => Promise<Row[]>;

/** A pool, and a semaphore with a place for each of its connections, since a wait inside the pool may time out. */
export interface OwnPool {
  readonly pool: Pool;
  readonly places: Semaphore;
}

/** The rows of one entity in a PostgreSQL database. */
export class PostgresTable implements BulkTable {
  /** Each is a statement, and has a connection of its own. */
  readonly pagesAtOnce = 1;
  private readonly sql: PostgresSql;
  private readonly writing: BulkStatements;
  private readonly reading: BulkStatements;

  constructor(
    private readonly columns: EntityColumns,
    private readonly writers: OwnPool,
    private readonly readers: OwnPool,
  ) {
    this.sql = new PostgresSql(columns);
    this.writing = this.statementsOn(writers.pool);
    this.reading = this.statementsOn(readers.pool);
  }

  get concurrency(): number {
    return this.writers.pool.options.max;
  }

  get readConcurrency(): number {
    return this.readers.pool.options.max;
  }

  async write<Result>(work: (statements: BulkStatements) => Promise<Result>): Promise<Result> {
    return await this.writers.places.use(() => work(this.writing));
  }

  async read<Result>(work: (statements: BulkStatements) => Promise<Result>): Promise<Result> {
    return await this.readers.places.use(() => work(this.reading));
  }

  within(manager: EntityManager): BulkStatements {
    const { query, savepoint } = transactionOf(manager);
    return new PostgresStatements(
      this.sql,
      this.columns,
      ({ text }, values) => query(text, values),
      savepoint,
    );
  }

  faultOf(error: unknown): Fault {
    if (isLocked(error)) return 'lock';
    return isRowError(error) ? 'row' : 'store';
  }

  constraintOf(error: unknown): ConstraintError | undefined {
    return constraintOf(error, this.columns);
  }

  private statementsOn(pool: Pool): PostgresStatements {
    const query = queryOn(pool);
    const none: BulkStatements['savepoint'] = (work) => work();
    return new PostgresStatements(this.sql, this.columns, query, none, (work) =>
      inTransaction(pool, (client) => {
        const within = new PostgresStatements(this.sql, this.columns, queryOn(client), (part) =>
          inSavepoint(client, part),
        );
        return work(within);
      }),
    );
  }
}

/** On a pool every statement is a commit of its own. */
function queryOn(connection: Pool | PoolClient): Query {
  return async <Row extends ObjectLiteral>(statement: NamedStatement, values: unknown[]) => {
    const { rows } = await connection.query<Row>({
      ...timed(statement.text),
      ...statement,
      values,
    });
    return rows;
  };
}

async function inTransaction<Result>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  // A connection that breaks fails its statements too; an event that nobody hears ends the program.
  const ignore = (): void => undefined;
  client.on('error', ignore);
  try {
    await client.query(timed('BEGIN'));
    const result = await work(client);
    // PostgreSQL answers to the COMMIT of a transaction that has failed that it was rolled back.
    const { command } = await client.query(timed('COMMIT'));
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back');
    client.release();
    return result;
  } catch (error) {
    // Its connection is closed, and the server rolls back.
    client.release(true);
    throw error;
  } finally {
    client.off('error', ignore);
  }
}

/** A savepoint of the same name hides the one before: to release it would only be a round trip more. */
async function inSavepoint<Result>(
  client: PoolClient,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    const [, result] = await Promise.all([client.query(timed('SAVEPOINT rows')), work()]);
    return result;
  } catch (error) {
    await client.query(timed('ROLLBACK TO rows'));
    throw error;
  }
}

class PostgresStatements implements BulkStatements {
  readonly survivesErrors = false;

  constructor(
    private readonly sql: PostgresSql,
    private readonly columns: EntityColumns,
    private readonly query: Query,
    readonly savepoint: BulkStatements['savepoint'],
    readonly ownTransaction?: BulkStatements['ownTransaction'],
  ) {}

  insert(rows: readonly Values[]): Promise<Set<string>> {
    return this.keysOf(this.sql.insert, [this.toJson(rows)]);
  }

  insertAll(rows: readonly Values[]): Promise<Set<string>> {
    return this.keysOf(this.sql.insertAll, [this.toJson(rows)]);
  }

  async compare(rows: readonly Values[]): Promise<Comparison[]> {
    return await this.query<Comparison>(this.sql.compare, [this.toJson(rows)]);
  }

  update(changes: readonly Change[]): Promise<Set<string>> {
    const rows = changes.map(({ values }) => values);
    return this.keysOf(this.sql.update, [this.toJson(rows), this.expectedOf(changes)]);
  }

  remove(removals: readonly Removal[]): Promise<Set<string>> {
    const { databaseName } = this.columns.key;
    const rows = JSON.stringify(removals.map(({ key }) => ({ [databaseName]: key })));
    return this.keysOf(this.sql.remove, [rows, this.expectedOf(removals)]);
  }

  async find(keys: readonly string[]): Promise<RawRow[]> {
    return await this.query<RawRow>(this.sql.find, [keys]);
  }

  async page(page: Page): Promise<RawRow[]> {
    return await this.query<RawRow>(this.sql.page(page), parametersOf(page));
  }

  async jsonPages(pages: readonly Page[]): Promise<WrittenPage[]> {
    return await Promise.all(pages.map((page) => this.jsonPage(page)));
  }

  private async jsonPage(page: Page): Promise<WrittenPage> {
    const statement = this.sql.jsonPage(page);
    const [written] = await this.query<WrittenPage>(statement, parametersOf(page));
    if (written === undefined) throw new TypeError('no page');
    return written;
  }

  private async keysOf(statement: NamedStatement, values: unknown[]): Promise<Set<string>> {
    const rows = await this.query<{ key: string }>(statement, values);
    return new Set(rows.map(({ key }) => key));
  }

  private expectedOf(changes: readonly Removal[]): string {
    return `[${changes.map(({ expected }) => (expected === null ? '{}' : this.objectOf(expected))).join()}]`;
  }

  private toJson(rows: readonly Values[]): string {
    return `[${rows.map((values) => this.objectOf(values)).join()}]`;
  }

  private objectOf(values: Values): string {
    const { inserted } = this.columns;
    const members = inserted.map(({ databaseName }, index) => [databaseName, values[index]]);
    return JSON.stringify(Object.fromEntries(members));
  }
}

/** The server gives a statement up in time; a connection that is silent for ever is given up after that. */
export function timed(text: string): QueryConfig & { query_timeout: number } {
  return { text, query_timeout: STATEMENT_TIMEOUT_MS + ANSWER_MARGIN_MS };
}
