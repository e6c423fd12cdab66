import type { Pool } from 'pg';
import type { ObjectLiteral, Repository } from 'typeorm';
import { type BulkTable, keyOf } from '../bulk-table.js';
import { codeOf } from '../store-data-source.js';
import { QUERY_TIMEOUT_MS } from './time-limits.js';

/** The classes of SQLSTATE with which PostgreSQL refuses a row itself: bad data, constraints, limits. */
const REFUSALS = ['22', '23', '54'];

/**
 * Writes many rows of an entity with one statement of a constant text: each column travels as one
 * array, so that the statement stays prepared and no limit on parameters applies.
 */
export class PostgresTable<Row extends ObjectLiteral> implements BulkTable<Row> {
  private readonly columns: readonly string[];
  private readonly key: string;
  private readonly insertStatement: { name: string; text: string };
  private readonly identicalStatement: { name: string; text: string };

  constructor(
    repository: Repository<Row>,
    private readonly pool: Pool,
    readonly concurrency: number,
  ) {
    const { metadata, manager } = repository;
    const { driver } = manager.connection;
    const quote = (name: string): string => driver.escape(name);
    this.columns = metadata.columns.map((column) => column.databaseName);
    this.key = keyOf(repository);
    const table = quote(metadata.tableName);
    const columns = this.columns.map(quote).join(', ');
    const key = quote(this.key);
    const arrays = metadata.columns.map(
      (column, index) => `$${index + 1}::${driver.normalizeType(column)}[]`,
    );
    this.insertStatement = {
      name: `insert ${metadata.tableName}`,
      text: `INSERT INTO ${table} (${columns}) SELECT * FROM UNNEST(${arrays.join(', ')})
             ON CONFLICT DO NOTHING RETURNING ${key}::text AS key`,
    };
    const areEqual = this.columns.map(
      (name) => `stored.${quote(name)} IS NOT DISTINCT FROM given.${quote(name)}`,
    );
    this.identicalStatement = {
      name: `identical ${metadata.tableName}`,
      text: `SELECT given."index" FROM UNNEST(${arrays.join(', ')})
             WITH ORDINALITY AS given (${columns}, "index")
             JOIN ${table} AS stored ON stored.${key} = given.${key}
             WHERE ${areEqual.join(' AND ')}`,
    };
  }

  async insertNew(rows: readonly Row[]): Promise<Set<string>> {
    // Two commits that wait for each other's keys would never end; in one order they do not.
    const ordered = rows.toSorted((a, b) => (a[this.key] < b[this.key] ? -1 : 1));
    const created = await this.query<{ key: string }>(this.insertStatement, ordered);
    return new Set(created.map(({ key }) => key));
  }

  async findIdentical(rows: readonly Row[]): Promise<Set<Row | undefined>> {
    const found = await this.query<{ index: string }>(this.identicalStatement, rows);
    return new Set(found.map(({ index }) => rows[Number(index) - 1]));
  }

  isRowError(error: unknown): boolean {
    return REFUSALS.includes(codeOf(error).slice(0, 2)) && codeOf(error).length === 5;
  }

  /** A connection on which anything fails is closed, and the next query opens another. */
  private async query<Result extends ObjectLiteral>(
    statement: { name: string; text: string },
    rows: readonly Row[],
  ): Promise<Result[]> {
    const values = this.columns.map((column) => rows.map((row) => row[column] as unknown));
    const query = { ...statement, values, query_timeout: QUERY_TIMEOUT_MS };
    return (await this.pool.query<Result>(query)).rows;
  }
}
