import type { TableColumnOptions } from 'typeorm';
import { sortExpression } from '../batching/sql-builder.js';
import type { ColumnType, NullableType } from '../columns.js';
import {
  type ColumnDefinition,
  type IndexDefinition,
  isNullable,
  SchemaSteps,
} from '../migration-steps.js';
import { withBriefLocks } from './brief-table-locks.js';
import { postgresDialect } from './postgres-dialect.js';

/** Other programs use the database meanwhile, so nothing here blocks a table for long. */
export class PostgresSchemaSteps extends SchemaSteps {
  async addColumn({ table, column, type }: ColumnDefinition): Promise<void> {
    const { driver } = this.queryRunner.connection;
    const collation = type.collation === undefined ? '' : ` COLLATE "${type.collation}"`;
    await this.alterTable(
      table,
      `ADD COLUMN ${this.escape(column)} ${driver.createFullType({ ...type } as never)}${collation}`,
    );
  }

  async createIndex({
    name,
    table,
    columns,
    ignoringCase = [],
    isUnique = false,
  }: IndexDefinition): Promise<void> {
    const indexed = Object.entries(columns).map(([column, { type }]) => {
      const ignoresCase = ignoringCase.includes(column);
      const sql = sortExpression(postgresDialect, this.escape(column), type, ignoresCase);
      // An index needs parentheses around an expression.
      return ignoresCase ? `(${sql})` : sql;
    });
    const kind = isUnique ? 'UNIQUE ' : '';
    await this.indexOnce(table, name, kind, indexed.join(', '), this.findIndexed(columns));
  }

  async dropIndex(name: string): Promise<void> {
    const how = this.queryRunner.isTransactionActive ? '' : 'CONCURRENTLY';
    await this.queryRunner.query(`DROP INDEX ${how} IF EXISTS ${this.escape(name)}`);
  }

  async sortByCodePoint(table: string, columns: readonly string[]): Promise<void> {
    const changes = columns.map(
      (column) => `ALTER COLUMN ${this.escape(column)} TYPE text COLLATE "C"`,
    );
    await this.alterTable(table, changes.join(', '));
  }

  protected describeColumn(name: string, type: ColumnType | NullableType): TableColumnOptions {
    const { type: typeName, collation, precision, default: standard } = type;
    return {
      name,
      type: typeName,
      isNullable: isNullable(type),
      ...(collation !== undefined && { collation }),
      ...(precision !== undefined && precision !== null && { precision }),
      ...(standard !== undefined && { default: standard }),
    };
  }

  private async alterTable(table: string, change: string): Promise<void> {
    const { queryRunner } = this;
    const sql = `ALTER TABLE ${this.escape(table)} ${change}`;
    await withBriefLocks(queryRunner, () => queryRunner.query(sql));
  }

  /**
   * Creates an index unless it exists.
   *
   * @throws TypeError in a transaction that has not created the table: others could not write to it
   */
  private async indexOnce(
    table: string,
    name: string,
    unique: string,
    indexed: string,
    condition: string,
  ): Promise<void> {
    const { queryRunner } = this;
    const existing = await this.findIndex(name);
    if (existing?.isValid === true) return;
    // A program ended while it was creating the index.
    if (existing !== undefined) await this.dropIndex(name);
    const create = (how: string): Promise<unknown> =>
      queryRunner.query(
        `CREATE ${unique}INDEX ${how} ${this.escape(name)} ON ${this.escape(table)} (${indexed}) ${condition}`,
      );
    if (!queryRunner.isTransactionActive) {
      await create('CONCURRENTLY');
      return;
    }
    // The row type of a table is written only when the table is created.
    const known = (await queryRunner.query(
      'SELECT 1 FROM pg_type WHERE typrelid = $1::regclass AND age(xmin) <> 0',
      [this.escape(table)],
    )) as unknown[];
    if (known.length > 0) {
      throw new TypeError(
        `The index ${name} cannot be created inside a transaction, since nobody could write to ${table} meanwhile: give the migration "readonly transaction = false"`,
      );
    }
    await create('');
  }

  private async findIndex(
    name: string,
  ): Promise<{ definition: string; isValid: boolean } | undefined> {
    const [index] = (await this.queryRunner.query(
      `SELECT pg_get_indexdef(indexrelid) AS definition, indisvalid AS "isValid"
       FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
       WHERE relname = $1 AND relnamespace = current_schema()::regnamespace`,
      [name],
    )) as { definition: string; isValid: boolean }[];
    return index;
  }
}
