import type { QueryRunner, TableColumnOptions } from 'typeorm';
import type { ColumnType, NullableType } from '../columns.js';

/** An index to create. */
export interface IndexDefinition {
  readonly name: string;
  readonly table: string;
  /** The columns in their order, by their names. */
  readonly columns: Readonly<Record<string, ColumnType | NullableType>>;
  /**
   * The columns that are indexed by the first 64 characters of their texts, regardless of the case
   * of A to Z.
   */
  readonly ignoringCase?: readonly string[];
  readonly isUnique?: boolean;
}

/** An index on the hash of a text, which may be of any length. */
export interface TextIndexDefinition {
  readonly name: string;
  readonly table: string;
  readonly column: string;
  /** The columns of the primary key, which sort the rows of a page. */
  readonly key: readonly string[];
}

/** Changes the schema of a store that may be large and in use, by an engine's means. */
export interface SchemaBuilder {
  /** Describes a column to TypeORM. */
  describeColumn(
    name: string,
    type: ColumnType | NullableType,
    isOnlyKey: boolean,
  ): TableColumnOptions;

  /** Adds a column that may be NULL, without writing a row. */
  addColumn(
    queryRunner: QueryRunner,
    table: string,
    name: string,
    type: ColumnType | NullableType,
  ): Promise<void>;

  createIndex(queryRunner: QueryRunner, index: IndexDefinition): Promise<void>;

  /** Creates an index, and replaces one with the same name but another definition. */
  createTextIndex(queryRunner: QueryRunner, index: TextIndexDefinition): Promise<void>;

  dropIndex(queryRunner: QueryRunner, name: string): Promise<void>;

  /** Sorts the texts of columns by code point, whatever the locale of the database. */
  sortByCodePoint(
    queryRunner: QueryRunner,
    table: string,
    columns: readonly string[],
  ): Promise<void>;
}

/** A column of an index, which has the sort expression of pages. */
export interface IndexedColumn {
  readonly name: string;
  readonly type: ColumnType | NullableType;
  readonly ignoresCase: boolean;
}

export function isNullable(type: ColumnType | NullableType): boolean {
  return 'nullable' in type;
}

export function listIndexedColumns({
  columns,
  ignoringCase = [],
}: IndexDefinition): IndexedColumn[] {
  return Object.entries(columns).map(([name, type]) => ({
    name,
    type,
    ignoresCase: ignoringCase.includes(name),
  }));
}
