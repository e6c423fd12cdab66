import { isDeepStrictEqual } from 'node:util';
import type { EntityMetadata, ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import type { StoreDataSource } from '../engine/store-data-source.js';
import { CanonicalTextTransformer } from '../entities/columns.js';
import { isBytes } from '../entities/column-values.js';
import { ConstraintError } from '../errors/constraint.error.js';
import { DatabaseStartError } from '../errors/store.errors.js';

/** How many rows are copied at a time, and above which length of their values they are fewer. */
const PAGE = { rows: 100, length: 1024 * 1024 };

/** The values of the columns. */
type Row = readonly unknown[];

/** Rows in the order of their keys. */
interface Page {
  readonly rows: readonly Row[];
  /** The key of the last row; undefined if there is no row. */
  readonly end: Row | undefined;
}

/** The outcome of the copy of one table. */
export interface TableCopy {
  rows: number;
  created: number;
  /** How many rows refer to rows that are not copied yet. */
  orphans: number;
}

/**
 * Copies the rows of a table that the target does not have.
 *
 * @param onRows gets the number of rows of each page
 * @throws DatabaseStartError when the target has another row with the key of a row
 */
export async function copyRows(
  source: StoreDataSource,
  target: StoreDataSource,
  metadata: EntityMetadata,
  onRows: (rows: number) => void,
): Promise<TableCopy> {
  const from = new CopiedTable(source, metadata);
  // The types of the columns differ between engines.
  const same = target.entityMetadatas.find(({ tableName }) => tableName === metadata.tableName);
  const to = new CopiedTable(target, same ?? metadata);
  const copy = { rows: 0, created: 0, orphans: 0 };
  for await (const rows of from.readPages()) {
    copy.rows += rows.length;
    onRows(rows.length);
    await to.add(rows, copy);
  }
  return copy;
}

/** A table, with values that are the same on every engine. */
class CopiedTable {
  private readonly table: string;
  private readonly columns: readonly ColumnMetadata[];
  private readonly keys: readonly ColumnMetadata[];

  constructor(
    private readonly dataSource: StoreDataSource,
    private readonly metadata: EntityMetadata,
  ) {
    this.table = dataSource.driver.escape(metadata.tableName);
    const stored = metadata.columns.filter(
      ({ asExpression, isVirtualProperty }) => asExpression === undefined && !isVirtualProperty,
    );
    this.columns = stored.map((column) => (isText(column) ? column : unconvert(column)));
    this.keys = this.columns.filter(({ isPrimary }) => isPrimary);
  }

  async *readPages(): AsyncGenerator<readonly Row[]> {
    // Bytes may be long: a row that has some is copied alone.
    const maxRows = this.columns.some(isBytes) ? 1 : PAGE.rows;
    // A row may be of any length, and is not known before it is read.
    let limit = 1;
    let page = await this.read(undefined, limit);
    while (page.rows.length > 0) {
      yield page.rows;
      const isShort = measure(page.rows) < PAGE.length;
      limit = isShort ? Math.min(2 * limit, maxRows) : Math.max(1, Math.floor(limit / 2));
      page = await this.read(page.end, limit);
    }
  }

  /** @param after the key of the row before the first one */
  private async read(after: Row | undefined, limit: number): Promise<Page> {
    const query = this.select().limit(limit);
    for (const [place, key] of this.keys.entries()) {
      query.addSelect(this.selectKey(key), `key${place}`).addOrderBy(this.name(key));
    }
    if (after !== undefined) {
      const names = this.keys.map((key) => this.name(key)).join(', ');
      query.where(`(${names}) > (:...after)`, { after });
    }
    const found = await query.getRawMany<ObjectLiteral>();
    const last = found.at(-1);
    return {
      rows: found.map((row) => this.hydrate(row)),
      end: last && this.keys.map((_, place) => last[`key${place}`] as unknown),
    };
  }

  /** Selects a key in all its digits, for the page after it. */
  private selectKey(key: ColumnMetadata): string {
    const isPostgres = this.dataSource.options.type === 'postgres';
    return isPostgres ? `${this.name(key)}::text` : this.name(key);
  }

  /** Adds rows that the table does not have, and counts them. */
  async add(rows: readonly Row[], copy: TableCopy): Promise<void> {
    const created = await this.insert(rows);
    if (created !== undefined) {
      copy.created += created;
      if (created < rows.length) await this.assertSame(rows);
    } else if (rows.length === 1) {
      copy.orphans++;
    } else {
      const middle = Math.ceil(rows.length / 2);
      await this.add(rows.slice(0, middle), copy);
      await this.add(rows.slice(middle), copy);
    }
  }

  /**
   * Inserts the rows whose keys and unique values are free.
   *
   * @returns how many these are; undefined if a row refers to a missing one, and nothing is stored
   */
  private async insert(rows: readonly Row[]): Promise<number | undefined> {
    const { driver } = this.dataSource;
    const values: unknown[] = [];
    const tuples = rows.map((row) => {
      const tuple = this.columns.map((column, index) => {
        values.push(this.toParameter(row[index], column));
        return driver.createParameter('value', values.length - 1);
      });
      return `(${tuple.join(', ')})`;
    });
    const names = this.columns.map((column) => this.name(column)).join(', ');
    try {
      const created = await this.dataSource.query<unknown[]>(
        `INSERT INTO ${this.table} (${names}) VALUES ${tuples.join(', ')} ON CONFLICT DO NOTHING RETURNING 1`,
        values,
      );
      return created.length;
    } catch (error) {
      if (error instanceof ConstraintError && error.kind === 'foreign key') return undefined;
      throw error;
    }
  }

  /** @throws DatabaseStartError when the table has not exactly these rows with their keys */
  private async assertSame(rows: readonly Row[]): Promise<void> {
    const query = this.select();
    for (const [place, row] of rows.entries()) {
      const parameters: ObjectLiteral = {};
      const equalities = this.keys.map((key) => {
        const index = this.columns.indexOf(key);
        const name = `key${place}_${index}`;
        parameters[name] = this.toParameter(row[index], key);
        return `${this.name(key)} = :${name}`;
      });
      query.orWhere(equalities.join(' AND '), parameters);
    }
    const found = await query.getRawMany<ObjectLiteral>();
    const stored = found.map((raw) => this.hydrate(raw));
    if (rows.every((row) => stored.some((other) => isSame(row, other)))) return;
    throw new DatabaseStartError(
      `${this.metadata.tableName} of the target has another row with a key or a unique value of a row to copy: nothing is overwritten`,
    );
  }

  private select(): SelectQueryBuilder<ObjectLiteral> {
    const query = this.dataSource
      .createQueryBuilder()
      .from(this.metadata.tableName, 'copied')
      .select([]);
    for (const column of this.columns) query.addSelect(this.name(column), column.databaseName);
    return query;
  }

  private hydrate(raw: ObjectLiteral): Row {
    const { driver } = this.dataSource;
    return this.columns.map((column) => {
      const value: unknown = raw[column.databaseName];
      return isText(column) ? value : (driver.prepareHydratedValue(value, column) as unknown);
    });
  }

  private toParameter(value: unknown, column: ColumnMetadata): unknown {
    const { driver } = this.dataSource;
    return isText(column) ? value : (driver.preparePersistentValue(value, column) as unknown);
  }

  private name({ databaseName }: ColumnMetadata): string {
    return this.dataSource.driver.escape(databaseName);
  }
}

/** Whether each engine gives and takes the values of a column as the same text. */
function isText({ transformer }: ColumnMetadata): boolean {
  return transformer instanceof CanonicalTextTransformer;
}

/** Leaves out the conversions of the entity. */
function unconvert(column: ColumnMetadata): ColumnMetadata {
  return Object.create(column, { transformer: { value: undefined } }) as ColumnMetadata;
}

/** Adds up the lengths of the texts of rows. */
function measure(rows: readonly Row[]): number {
  let length = 0;
  for (const value of rows.flat()) if (typeof value === 'string') length += value.length;
  return length;
}

function isSame(row: Row, other: Row): boolean {
  return row.every((value, index) => isSameValue(value, other[index]));
}

/** Engines give an integer or a decimal as a number, or as text. */
function isSameValue(value: unknown, other: unknown): boolean {
  if (value === null || other === null) return value === other;
  const isNumber = typeof value === 'number' || typeof other === 'number';
  return isNumber ? Number(value) === Number(other) : isDeepStrictEqual(value, other);
}
