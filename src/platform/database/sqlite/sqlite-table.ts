import type { EntityManager } from 'typeorm';
import {
  type BulkStatements,
  type BulkTable,
  type Change,
  type Comparison,
  type Fault,
  type Page,
  parametersOf,
  type Removal,
  shapeOf,
  type WrittenPage,
} from '../batching/bulk-table.js';
import type { ConstraintError } from '../constraint.error.js';
import type { EntityColumns, RawRow, Values } from '../batching/entity-columns.js';
import { transactionOf } from '../data-source/open-transaction.js';
import type { SqliteConnection } from './sqlite-connection.js';
import type { SqliteConnections } from './sqlite-connection-pool.js';
import { withRows } from './sqlite-driver.js';
import { constraintOf, isRowError } from './sqlite-errors.js';
import { SqliteSql } from './sqlite-sql.js';

type Query = <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>;

/** The rows of one entity in a SQLite database. */
export class SqliteTable implements BulkTable {
  /** SQLite has one writer. */
  readonly concurrency = 1;
  readonly readConcurrency = 1;
  /** To wake the thread that reads takes as long as to read a page. */
  readonly pagesAtOnce = 8;
  private readonly sql: SqliteSql;
  private readonly writing: BulkStatements;
  private readonly reading: BulkStatements;

  constructor(
    private readonly columns: EntityColumns,
    private readonly connections: SqliteConnections,
  ) {
    this.sql = new SqliteSql(columns);
    this.writing = this.statementsOn(connections.commits);
    this.reading = this.statementsOn(connections.reads);
  }

  async write<Result>(work: (statements: BulkStatements) => Promise<Result>): Promise<Result> {
    return await this.connections.commit(() => work(this.writing));
  }

  async read<Result>(work: (statements: BulkStatements) => Promise<Result>): Promise<Result> {
    return await this.connections.read(() => work(this.reading));
  }

  within(manager: EntityManager): BulkStatements {
    const { query, savepoint } = transactionOf(manager);
    const queryRows: Query = (sql, parameters) => query(withRows(sql), parameters);
    return new SqliteStatements(this.sql, queryRows, savepoint);
  }

  faultOf(error: unknown): Fault {
    return isRowError(error) ? 'row' : 'store';
  }

  constraintOf(error: unknown): ConstraintError | undefined {
    return constraintOf(error, this.columns);
  }

  private statementsOn(connection: SqliteConnection): SqliteStatements {
    const { sql } = this;
    const query: Query = (text, parameters) => connection.all(text, parameters);
    const within = new SqliteStatements(sql, query, (work) =>
      undoIfItFails(
        connection,
        ['SAVEPOINT rows', 'RELEASE rows', 'ROLLBACK TO rows; RELEASE rows'],
        work,
      ),
    );
    return new SqliteStatements(sql, query, within.savepoint, (work) =>
      undoIfItFails(connection, ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'], () => work(within)),
    );
  }
}

async function undoIfItFails<Result>(
  connection: SqliteConnection,
  [begin, end, undo]: [string, string, string],
  work: () => Promise<Result>,
): Promise<Result> {
  await connection.exec(begin);
  try {
    const result = await work();
    await connection.exec(end);
    return result;
  } catch (error) {
    // After some errors SQLite has undone everything already.
    await connection.exec(undo).catch(() => undefined);
    throw error;
  }
}

const NO_PAGE: WrittenPage = { text: '[]', last: '', hasMore: false };

class SqliteStatements implements BulkStatements {
  readonly survivesErrors = true;

  constructor(
    private readonly sql: SqliteSql,
    private readonly query: Query,
    readonly savepoint: BulkStatements['savepoint'],
    readonly ownTransaction?: BulkStatements['ownTransaction'],
  ) {}

  insert(rows: readonly Values[]): Promise<Set<string>> {
    return this.keysOf(this.sql.insert, rows);
  }

  insertAll(rows: readonly Values[]): Promise<Set<string>> {
    return this.keysOf(this.sql.insertAll, rows);
  }

  async compare(rows: readonly Values[]): Promise<Comparison[]> {
    const found = await this.query<Record<keyof Comparison, number | null>>(this.sql.compare, [
      JSON.stringify(rows),
    ]);
    return found.map(({ isStored, isIdentical, missing }) => ({
      isStored: isStored === 1,
      isIdentical: isIdentical === 1,
      missing,
    }));
  }

  update(changes: readonly Change[]): Promise<Set<string>> {
    return this.keysOf(
      this.sql.update,
      changes.map(({ key, expected, values }) => [key, expected, values]),
    );
  }

  remove(removals: readonly Removal[]): Promise<Set<string>> {
    return this.keysOf(
      this.sql.remove,
      removals.map(({ key, expected }) => [key, expected]),
    );
  }

  async find(keys: readonly string[]): Promise<RawRow[]> {
    return await this.query<RawRow>(this.sql.find, [JSON.stringify(keys)]);
  }

  async page(page: Page): Promise<RawRow[]> {
    return await this.query<RawRow>(this.sql.page(page), parametersOf(page));
  }

  async jsonPages(pages: readonly Page[]): Promise<WrittenPage[]> {
    const groups = new Map<string, Page[]>();
    for (const page of pages) {
      const group = `${page.limit} ${shapeOf(page)}`;
      groups.set(group, [...(groups.get(group) ?? []), page]);
    }
    const written = new Map<Page, WrittenPage>();
    for (const group of groups.values()) await this.readGroup(group, written);
    return pages.map((page) => written.get(page) ?? NO_PAGE);
  }

  /** Reads pages of the same shape and limit. */
  private async readGroup(pages: readonly Page[], written: Map<Page, WrittenPage>): Promise<void> {
    const [first] = pages;
    if (first === undefined) return;
    const given = pages.map(({ where, after }) => [...where.values(), after]);
    const rows = await this.query<{ text: string | null; hasMore: number }>(
      this.sql.jsonPages(first),
      [first.limit, JSON.stringify(given)],
    );
    pages.forEach((page, index) => {
      const { text, hasMore } = rows[index] ?? { text: null, hasMore: 0 };
      if (text !== null) written.set(page, { ...splitPage(text), hasMore: hasMore === 1 });
    });
  }

  private async keysOf(sql: string, rows: readonly unknown[]): Promise<Set<string>> {
    const keys = await this.query<{ key: string }>(sql, [JSON.stringify(rows)]);
    return new Set(keys.map(({ key }) => key));
  }
}

/** The key of the last row, as JSON, stands on a line before the rows. */
function splitPage(page: string): { last: string; text: string } {
  const end = page.indexOf('\n');
  const last = page.slice(0, end);
  return {
    last: last.startsWith('"') ? (JSON.parse(last) as string) : last,
    text: page.slice(end + 1),
  };
}
