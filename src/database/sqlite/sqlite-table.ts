import type { Statement } from 'sqlite3';
import type { Driver, ObjectLiteral, Repository } from 'typeorm';
import { type BulkTable, keyOf } from '../bulk-table.js';
import { codeOf } from '../store-data-source.js';

/** The codes with which SQLite refuses a row itself. */
const REFUSALS = new Set(['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG']);

/** What the table needs of the data source that it is in. */
export interface SqliteConnection {
  readonly driver: Driver;
  prepare(sql: string): Statement;
  assertSameFile(): void;
  dropPageCache(): void;
}

/**
 * Writes many rows of an entity with one statement of a constant text: the rows travel as one
 * JSON parameter, so that the statement stays prepared and no limit on parameters applies.
 * A 64-bit integer is a decimal string in a row, which the column's type makes an integer of.
 */
export class SqliteTable<Row extends ObjectLiteral> implements BulkTable<Row> {
  /** SQLite has one writer. */
  readonly concurrency = 1;
  private readonly columns: readonly string[];
  private readonly insertStatement: Statement;
  private readonly identicalStatement: Statement;

  constructor(
    repository: Repository<Row>,
    private readonly dataSource: SqliteConnection,
  ) {
    const { metadata } = repository;
    const quote = (name: string): string => dataSource.driver.escape(name);
    this.columns = metadata.columns.map((column) => column.databaseName);
    const table = quote(metadata.tableName);
    const key = keyOf(repository);
    const values = this.columns.map((_, index) => `given.value ->> ${index}`);

    this.insertStatement = dataSource.prepare(
      `INSERT INTO ${table} (${this.columns.map(quote).join(', ')})
       SELECT ${values.join(', ')} FROM json_each(?) AS given WHERE true
       ON CONFLICT DO NOTHING
       RETURNING CAST(${quote(key)} AS TEXT) AS key`,
    );
    this.identicalStatement = dataSource.prepare(
      `SELECT given.key AS "index" FROM json_each(?) AS given
       JOIN ${table} AS stored ON stored.${quote(key)} = given.value ->> ${this.columns.indexOf(key)}
       WHERE ${this.columns.map((name, index) => `stored.${quote(name)} IS ${values[index]}`).join(' AND ')}`,
    );
  }

  async insertNew(rows: readonly Row[]): Promise<Set<string>> {
    const created = await this.all<{ key: string }>(this.insertStatement, rows);
    return new Set(created.map(({ key }) => key));
  }

  async findIdentical(rows: readonly Row[]): Promise<Set<Row | undefined>> {
    const found = await this.all<{ index: number }>(this.identicalStatement, rows);
    return new Set(found.map(({ index }) => rows[index]));
  }

  isRowError(error: unknown): boolean {
    return REFUSALS.has(codeOf(error));
  }

  private async all<Result>(statement: Statement, rows: readonly Row[]): Promise<Result[]> {
    const results = await this.run<Result>(statement, rows);
    this.dataSource.assertSameFile();
    return results;
  }

  private run<Result>(statement: Statement, rows: readonly Row[]): Promise<Result[]> {
    const parameter = JSON.stringify(
      rows.map((row) => this.columns.map((column) => (row[column] as unknown) ?? null)),
    );
    return new Promise((resolve, reject) => {
      statement.all<Result>(parameter, (error, results) => {
        if (error === null) {
          resolve(results);
        } else {
          this.dataSource.dropPageCache();
          reject(error);
        }
      });
    });
  }
}
