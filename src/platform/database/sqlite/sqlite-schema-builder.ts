import type { QueryRunner, TableColumnOptions } from 'typeorm';
import { sortExpression } from '../batching/sql-builder.js';
import type { ColumnType, NullableType } from '../columns.js';
import {
  type IndexDefinition,
  isNullable,
  listIndexedColumns,
  type SchemaBuilder,
  type TextIndexDefinition,
} from '../data-source/schema-builder.js';
import { sqliteDialect } from './sqlite-dialect.js';

/** The declared types of columns for which SQLite has no type. */
export const SQLITE_TYPES: Readonly<Record<string, string>> = {
  'timestamp with time zone': 'text',
  uuid: 'varchar',
};

/** No other program uses the file during a migration, so no step has to avoid locks. */
export const sqliteSchemaBuilder: SchemaBuilder = {
  describeColumn(
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
  },

  /** The addColumn() of TypeORM would copy the whole table. */
  async addColumn(
    queryRunner: QueryRunner,
    table: string,
    name: string,
    { type }: ColumnType | NullableType,
  ): Promise<void> {
    const { driver } = queryRunner.connection;
    await queryRunner.query(
      `ALTER TABLE ${driver.escape(table)} ADD COLUMN ${driver.escape(name)} ${SQLITE_TYPES[type] ?? type}`,
    );
  },

  async createIndex(queryRunner: QueryRunner, index: IndexDefinition): Promise<void> {
    const { driver } = queryRunner.connection;
    const indexed = listIndexedColumns(index).map(({ name, type, ignoresCase }) => {
      const column = { type: type.type, isNullable: isNullable(type) };
      return sortExpression(sqliteDialect, driver.escape(name), column, ignoresCase);
    });
    const unique = index.isUnique === true ? 'UNIQUE ' : '';
    await queryRunner.query(
      `CREATE ${unique}INDEX IF NOT EXISTS ${driver.escape(index.name)}
       ON ${driver.escape(index.table)} (${indexed.join(', ')})`,
    );
  },

  /** Every index contains the key already, and texts of any length. */
  async createTextIndex(
    queryRunner: QueryRunner,
    { name, table, column }: TextIndexDefinition,
  ): Promise<void> {
    const { driver } = queryRunner.connection;
    await queryRunner.query(
      `CREATE INDEX IF NOT EXISTS ${driver.escape(name)} ON ${driver.escape(table)}
       (${driver.escape(column)}) WHERE ${driver.escape(column)} IS NOT NULL`,
    );
  },

  async dropIndex(queryRunner: QueryRunner, name: string): Promise<void> {
    await queryRunner.query(`DROP INDEX IF EXISTS ${queryRunner.connection.driver.escape(name)}`);
  },

  async sortByCodePoint(): Promise<void> {
    // SQLite sorts every text by code point.
  },
};
