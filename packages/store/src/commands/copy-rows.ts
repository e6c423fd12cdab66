import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { DatabaseStartError } from '../errors/store.errors.js';
import { ConstraintError } from '../errors/constraint.error.js';
import type { StoreDataSource } from '../engine/store-data-source.js';

/** How many rows are copied at a time. A row may have 100 KB. */
const PAGE_ROWS = 100;

type Row = readonly unknown[];

/**
 * Copies the rows of a table of TypeORM's own repository, such as that of a many-to-many relation.
 *
 * @returns how many rows the table has, and how many refer to rows that are missing in the target
 * @throws DatabaseStartError when the target has another row with the key of a row
 */
export async function copyRows(
  source: StoreDataSource,
  target: StoreDataSource,
  metadata: EntityMetadata,
): Promise<{ rows: number; orphans: number }> {
  const from = new RawTable(source, metadata);
  // The types of the columns differ between engines.
  const same = target.entityMetadatas.find(({ tableName }) => tableName === metadata.tableName);
  const to = new RawTable(target, same ?? metadata);
  const copy = { rows: 0, orphans: 0 };
  for (;;) {
    const page = await from.read(copy.rows);
    if (page.length === 0) return copy;
    copy.rows += page.length;
    if (await to.insert(page)) await to.assertSame(page);
    else for (const row of page) copy.orphans += (await to.insert([row])) ? 0 : 1;
  }
}

/** A table, whose values are those of the properties, without the conversions of the entity. */
class RawTable {
  private readonly table: string;
  private readonly columns: readonly ColumnMetadata[];

  constructor(
    private readonly dataSource: StoreDataSource,
    private readonly metadata: EntityMetadata,
  ) {
    this.table = this.escape(metadata.tableName);
    this.columns = metadata.columns
      .filter(
        ({ asExpression, isVirtualProperty }) => asExpression === undefined && !isVirtualProperty,
      )
      .map(
        (column) => Object.create(column, { transformer: { value: undefined } }) as ColumnMetadata,
      );
  }

  /** Reads the rows behind the first ones, in the order of their keys. */
  async read(skipped: number): Promise<Row[]> {
    const query = this.select().limit(PAGE_ROWS).offset(skipped);
    for (const key of this.keys) query.addOrderBy(this.escape(key.databaseName));
    return (await query.getRawMany<ObjectLiteral>()).map((row) => this.hydrate(row));
  }

  /** @returns false if a row refers to a missing one; nothing is stored then */
  async insert(rows: readonly Row[]): Promise<boolean> {
    const { driver } = this.dataSource;
    const values: unknown[] = [];
    const tuples = rows.map((row) => {
      const tuple = this.columns.map((column, index) => {
        values.push(driver.preparePersistentValue(row[index], column));
        return driver.createParameter('value', values.length - 1);
      });
      return `(${tuple.join(', ')})`;
    });
    const names = this.columns.map(({ databaseName }) => this.escape(databaseName));
    try {
      await this.dataSource.query(
        `INSERT INTO ${this.table} (${names.join(', ')}) VALUES ${tuples.join(', ')} ON CONFLICT DO NOTHING`,
        values,
      );
      return true;
    } catch (error) {
      if (error instanceof ConstraintError && error.kind === 'foreign key') return false;
      throw error;
    }
  }

  /** @throws DatabaseStartError when the table has other rows with these keys */
  async assertSame(rows: readonly Row[]): Promise<void> {
    for (const row of rows) {
      const query = this.select();
      for (const key of this.keys) {
        const index = this.columns.findIndex(
          ({ databaseName }) => databaseName === key.databaseName,
        );
        const name = `key${index}`;
        const value: unknown = this.dataSource.driver.preparePersistentValue(
          row[index],
          this.columns[index] ?? key,
        );
        query.andWhere(`${this.escape(key.databaseName)} = :${name}`, { [name]: value });
      }
      const stored = await query.getRawOne<ObjectLiteral>();
      const values = stored === undefined ? [] : this.hydrate(stored);
      if (!row.every((value, index) => isSame(value, values[index]))) {
        throw new DatabaseStartError(
          `${this.metadata.tableName} of the target has another row with a key or a unique value of a row to copy: nothing is overwritten`,
        );
      }
    }
  }

  private get keys(): readonly ColumnMetadata[] {
    return this.metadata.primaryColumns;
  }

  private select(): ReturnType<StoreDataSource['createQueryBuilder']> {
    const query = this.dataSource
      .createQueryBuilder()
      .from(this.metadata.tableName, 'copied')
      .select([]);
    for (const { databaseName } of this.columns)
      query.addSelect(this.escape(databaseName), databaseName);
    return query;
  }

  private hydrate(row: ObjectLiteral): Row {
    const { driver } = this.dataSource;
    return this.columns.map(
      (column) => driver.prepareHydratedValue(row[column.databaseName], column) as unknown,
    );
  }

  private escape(name: string): string {
    return this.dataSource.driver.escape(name);
  }
}

/** Engines give a decimal as a number, or as text. */
function isSame(value: unknown, other: unknown): boolean {
  const isNumber = typeof value === 'number' || typeof other === 'number';
  return isNumber && value !== null && other !== null
    ? Number(value) === Number(other)
    : JSON.stringify(value) === JSON.stringify(other);
}
