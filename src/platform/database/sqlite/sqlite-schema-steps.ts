import type { TableColumnOptions } from 'typeorm';
import { sortExpression } from '../batching/sql-builder.js';
import type { ColumnType, NullableType } from '../columns.js';
import {
  type ColumnDefinition,
  type IndexDefinition,
  isNullable,
  SchemaSteps,
} from '../migration-steps.js';
import { sqliteDialect } from './sqlite-dialect.js';

/** The declared types of columns for which SQLite has no type. */
export const SQLITE_TYPES: Readonly<Record<string, string>> = {
  'timestamp with time zone': 'text',
  uuid: 'varchar',
  bytea: 'blob',
};

/** No other program uses the file during a migration, so no step has to avoid locks. */
export class SqliteSchemaSteps extends SchemaSteps {
  /** The addColumn() of TypeORM would copy the whole table. */
  async addColumn({ table, column, type: { type } }: ColumnDefinition): Promise<void> {
    await this.queryRunner.query(
      `ALTER TABLE ${this.escape(table)} ADD COLUMN ${this.escape(column)} ${SQLITE_TYPES[type] ?? type}`,
    );
  }

  async createIndex({
    name,
    table,
    columns,
    ignoringCase = [],
    isUnique = false,
  }: IndexDefinition): Promise<void> {
    const indexed = Object.entries(columns).map(([column, { type }]) =>
      sortExpression(sqliteDialect, this.escape(column), type, ignoringCase.includes(column)),
    );
    await this.queryRunner.query(
      `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX IF NOT EXISTS ${this.escape(name)}
       ON ${this.escape(table)} (${indexed.join(', ')}) ${this.findIndexed(columns)}`,
    );
  }

  async dropIndex(name: string): Promise<void> {
    await this.queryRunner.query(`DROP INDEX IF EXISTS ${this.escape(name)}`);
  }

  async sortByCodePoint(): Promise<void> {
    // SQLite sorts every text by code point.
  }

  protected describeColumn(
    name: string,
    type: ColumnType | NullableType,
    isOnlyKey: boolean,
  ): TableColumnOptions {
    const { default: standard } = type;
    // Exactly this type makes the key the rowid: one B-tree, and int64 enforced.
    const isRowid = isOnlyKey && type.type === 'bigint';
    return {
      name,
      type: isRowid ? 'integer' : (SQLITE_TYPES[type.type] ?? type.type),
      isNullable: isNullable(type),
      ...(standard !== undefined && { default: standard }),
    };
  }
}
